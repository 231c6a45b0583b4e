#!/usr/bin/env bash
# Writes build/image: a Dockerfile and the sources that it takes, nothing else. No docker is needed for that, and no network.
#
#   tools/image.sh [FOLDER]
set -euo pipefail
cd "$(dirname "$0")/.."

target=${1:-build/image}
parts=(CMakeLists.txt CMakePresets.json LICENSE cmake include packaging src web)

rm -rf "$target"
mkdir -p "$target"
# What git knows, if this is a repository: no editor's leftovers, no node_modules.
if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
  git ls-files -z -- "${parts[@]}" | xargs -0 cp --parents -t "$target"
else
  cp -r --parents -t "$target" "${parts[@]}"
fi
mv "$target/packaging/Dockerfile" "$target/Dockerfile"
printf '%s\n' Dockerfile .dockerignore >"$target/.dockerignore"  # a change of these builds nothing again
echo "$target: docker build -t attend $target && docker run -p 8080:8080 attend"
