#!/usr/bin/env bash
# Measures attend beside other engines: sets up a Python environment for them (PyTorch's package pulls several GB, which is why this
# is no part of `make test`), builds the adapter, runs bench/rivals/run.py with the arguments given here.
#
#   tools/rivals.sh [--quick] [--only sdpa|weights|numpy|matmul] [--threads N]
#
# RIVALS_PYTHON names a Python that has the packages already; nothing is then installed.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=build/rivals-venv
requirements=bench/rivals/requirements.txt
log=build/rivals.log

tools/setup.sh rivals
if [ -z "${RIVALS_PYTHON:-}" ]; then
  RIVALS_PYTHON=$venv/bin/python
  if ! cmp -s "$requirements" "$venv/requirements.txt"; then
    echo "rivals: installing $(grep -v '^#' "$requirements" | tr '\n' ' ')into $venv"
    python3 -c '' 2>/dev/null && python=python3 || python=/usr/bin/python3
    "$python" -m venv "$venv" >"$log" 2>&1 &&
      "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$requirements" >>"$log" 2>&1 ||
      { echo "rivals: the packages of $requirements could not be installed (details in $log)" >&2; exit 1; }
    cp "$requirements" "$venv/requirements.txt"
  fi
fi

cmake --preset release -DATTEND_RIVALS=ON >build/configure.log || { cat build/configure.log; exit 1; }
cmake --build --preset release --target attend_adapter
exec "$RIVALS_PYTHON" bench/rivals/run.py "$@"
