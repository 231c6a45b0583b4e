#!/usr/bin/env bash
# Proves libattend_cuda.so on the GPU of this machine, in less than eight minutes: the numerics grid against float64 by both kernels, what
# the library promises, compute-sanitizer on a small set where it is there, CUDA arrays in Python where a python3 has both attend and
# PyTorch (pip install .), `attend bench --device cuda`, and the time beside cuDNN and PyTorch's eager path where PyTorch is there.
#
#   tools/gpu.sh            builds what is missing, then runs
#   tools/gpu.sh FOLDER     runs what FOLDER has: attend_gpu_test, libattend_gpu_adapter.so, libattend_cuda.so, attend, bench.py,
#                           gpu_python_test.py, libraries, and py/ with the package attend if python3 has none (that which
#                           cmake -DATTEND_PYTHON=ON -DPython_EXECUTABLE=... puts under build/PRESET/python, for the same Python)
set -uo pipefail

folder=${1:-}
if [ -z "$folder" ]; then
  cd "$(dirname "$0")/.."
  folder=build/gpu
  tools/cuda.sh && cmake --preset release -DATTEND_TESTS=ON >build/release.log &&
    cmake --build --preset release --target attend_gpu_test attend_gpu_adapter attend -- --quiet || exit 1
  mkdir -p "$folder"
  cp build/cuda/libattend_cuda.so build/release/tests/cuda/{attend_gpu_test,libattend_gpu_adapter.so} build/release/attend bench/gpu/bench.py \
    tests/cuda/gpu_python_test.py "$folder"
fi
cd "$folder" || exit 1
export LD_LIBRARY_PATH=$PWD${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} ATTEND_CUDA=$PWD/libattend_cuda.so PYTHONUNBUFFERED=1
[ -d py ] && export PYTHONPATH=$PWD/py
status=0

echo "== every test"
timeout 150 ./attend_gpu_test --gtest_brief=1 || status=1
echo "== the grid and the promises by the portable kernel"
ATTEND_CUDA_KERNEL=portable timeout 120 ./attend_gpu_test --gtest_brief=1 --gtest_filter='*EveryPair*:GpuPromises*' || status=1

if command -v compute-sanitizer >/dev/null; then
  # initcheck takes what bulk copies wrote, the sums of d_q, for memory that nobody wrote. racecheck does not follow an order that goes from a
  # reader through the rest of its warp and two barriers in memory to a writer, as in the backward pass and in weights: each warp tells that it
  # has read, one thread waits for all of them and tells the warp that writes. Both tools look at the other kernels.
  every='GpuEveryKernel*:GpuMemory*:GpuStream.AGraph*:GpuStream.ATensor*'
  for tool in memcheck initcheck racecheck synccheck; do
    echo "== compute-sanitizer, $tool"
    tests=$every
    case $tool in initcheck | racecheck) tests='GpuEveryKernel.F*' ;; esac
    # Calls that are meant to fail, as asking for too much memory is, are no finding.
    timeout 90 compute-sanitizer --tool "$tool" --report-api-errors no --error-exitcode 1 ./attend_gpu_test --gtest_brief=1 --gtest_filter="$tests" || status=1
  done
else
  echo "== left out: there is no compute-sanitizer"
fi

if python3 -c 'import torch, attend' 2>/dev/null; then
  echo "== CUDA arrays in Python"
  timeout 90 python3 gpu_python_test.py || status=1
else
  echo "== left out: no python3 has both attend and PyTorch"
fi

echo "== attend bench --device cuda"
timeout 120 ./attend bench --device cuda || status=1

if python3 -c 'import torch' 2>/dev/null; then
  echo "== beside cuDNN"
  timeout 120 python3 bench.py ./libattend_gpu_adapter.so || status=1
else
  echo "== left out: there is no PyTorch to measure beside"
fi
exit $status
