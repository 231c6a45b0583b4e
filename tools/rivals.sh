#!/usr/bin/env bash
# attend beside other engines: sets up a Python environment for them (PyTorch's package pulls several GB, which is why this is no
# part of `make test`), builds the adapter, the Python package and the program for it, runs the tests and the example of attend.torch, and then
# bench/rivals/run.py with the arguments given here.
#
#   tools/rivals.sh [--quick] [--only tests|sdpa|bf16|weights|numpy|matmul|transformers|encoder|language|training|serving]
#                   [--threads N] [--model FOLDER|NAME] [--writer FILE|NAME]
#
# RIVALS_PYTHON names a Python that has the packages already; nothing is then installed.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=build/rivals-venv
build=build/rivals  # its own: the package of `make test` is for another Python
requirements=bench/rivals/requirements.txt
log=build/rivals.log

only=
previous=
for argument in "$@"; do
  case $previous:$argument in
    --only:*) only=$argument ;;
    *:--only=*) only=${argument#--only=} ;;
  esac
  previous=$argument
done

tools/setup.sh rivals
if [ -z "${RIVALS_PYTHON:-}" ]; then
  RIVALS_PYTHON=$PWD/$venv/bin/python
  if ! cmp -s "$requirements" "$venv/requirements.txt"; then
    echo "rivals: installing $(grep -v '^#' "$requirements" | tr '\n' ' ')into $venv"
    python3 -c '' 2>/dev/null && python=python3 || python=/usr/bin/python3
    "$python" -m venv "$venv" >"$log" 2>&1 &&
      "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$requirements" >>"$log" 2>&1 ||
      { echo "rivals: the packages of $requirements could not be installed (details in $log)" >&2; exit 1; }
    cp "$requirements" "$venv/requirements.txt"
  fi
fi

RIVALS_PYTHON=$("$RIVALS_PYTHON" -c 'import sys; print(sys.executable)')  # CMake takes a whole path
cmake --preset release -B "$build" -DATTEND_APP=ON -DATTEND_TESTS=OFF -DATTEND_RIVALS=ON -DATTEND_PYTHON=ON \
  -DPython_EXECUTABLE="$RIVALS_PYTHON" >build/configure.log || { cat build/configure.log; exit 1; }
cmake --build "$build" --target attend_adapter attend_core attend_program
export PYTHONPATH=$PWD/$build/python

# Other servers of vectors. infinity-emb wants versions that nothing else here does.
serving() {
  local fastapi=build/fastapi-venv infinity=build/infinity-venv python=/usr/bin/python3 model
  python3 -c '' 2>/dev/null && python=python3
  [ -x "$fastapi/bin/uvicorn" ] || { "$python" -m venv "$fastapi" && "$fastapi/bin/pip" install --quiet sentence-transformers==6.2.0 fastapi==0.163.0 uvicorn==0.54.0; }
  [ -x "$infinity/bin/infinity_emb" ] || { "$python" -m venv "$infinity" && "$infinity/bin/pip" install --quiet "infinity-emb[server,torch]==0.0.78"; }
  model=$("$build/attend" pull --if-missing all-MiniLM-L6-v2)
  "$python" bench/rivals/serving.py --program "$build/attend" --model "$model" --fastapi "$fastapi/bin/python" --infinity "$infinity/bin/infinity_emb"
}
if [ "$only" = serving ]; then
  serving
  exit
fi

if [ -z "$only" ] || [ "$only" = tests ]; then
  ATTEND=$build/attend "$RIVALS_PYTHON" -m pytest tests/torch tests/clients
  "$RIVALS_PYTHON" examples/transformers_on_attend.py
fi
[ "$only" = tests ] || exec "$RIVALS_PYTHON" bench/rivals/run.py "$@"
