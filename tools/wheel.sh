#!/usr/bin/env bash
# Builds the Python package's wheel into build/wheel with PYTHON (default: .venv's), which has the packages of tests/requirements.txt.
# It shares build/release, so that what is compiled there is not compiled again; `pip install .` does without both.
set -euo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-.venv/bin/python}
rm -rf build/wheel
"$python" -m pip wheel . --quiet --disable-pip-version-check --no-deps --no-build-isolation -w build/wheel \
  -C build-dir=build/release -C cmake.define.ATTEND_APP=ON -C cmake.define.ATTEND_TESTS=ON
