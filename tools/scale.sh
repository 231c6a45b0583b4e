#!/usr/bin/env bash
# Many texts by many workers: tests attend.ray with a real Ray of this machine, with 2 and 4 workers and one that is killed, and measures it
# beside `attend embed`. Ray and pyarrow take 400 MB, which is why this is no part of `make test`. Arguments are those of bench/scale/texts.py.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=build/scale-venv
requirements=tests/scale/requirements.txt
tools/setup.sh test
if ! cmp -s "$requirements" "$venv/requirements.txt"; then
  echo "scale: installing $(grep -v '^#' "$requirements" | tr '\n' ' ')into $venv"
  .venv/bin/python -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$requirements"
  cp "$requirements" "$venv/requirements.txt"
fi
tools/wheel.sh
"$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --force-reinstall build/wheel/*.whl
cmake --build --preset release --target attend_program -- --quiet
build/release/attend pull --if-missing all-MiniLM-L6-v2 >build/model.txt
"$venv/bin/python" -m pytest -q tests/scale
"$venv/bin/python" bench/scale/texts.py "$@"
