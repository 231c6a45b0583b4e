#!/usr/bin/env bash
# Builds build/cuda/libattend_cuda.so, and puts it beside the program where there is one. The compiler is NVCC, or an nvcc on the path,
# or the one that `tools/setup.sh cuda` unpacked. Fails on registers that spill to memory and on products that the assembler says it
# has made one after the other (C7508 to C7510 and C7520): both still compute the right thing, at a fraction of the speed.
set -uo pipefail
cd "$(dirname "$0")/.."

folder=build/cuda
nvcc=${NVCC:-$(command -v nvcc || true)}
[ -n "$nvcc" ] || nvcc=build/nvcc/nvidia/cu13/bin/nvcc
[ -x "$nvcc" ] || { echo "cuda: there is no nvcc; tools/setup.sh cuda gets one" >&2; exit 1; }
libraries=$(dirname "$nvcc")/../lib  # that of the packages; others know their own
mkdir -p "$folder/include/cuda/hopper"
python3 src/cuda/hopper/make_wgmma.py >"$folder/wgmma.h" || exit 1
cmp -s "$folder/wgmma.h" "$folder/include/cuda/hopper/wgmma.h" || mv "$folder/wgmma.h" "$folder/include/cuda/hopper/wgmma.h"

flags=(-std=c++20 -O3 --threads 1 -Xptxas -v -Xcompiler -fPIC,-fvisibility=hidden,-Wall -I src -I "$folder/include" --expt-relaxed-constexpr)
hopper=(-gencode arch=compute_90a,code=sm_90a)
portable=(-gencode arch=compute_90,code=sm_90 -gencode arch=compute_80,code=compute_80)

# Whether an object is newer than all that it was made of.
fresh() {
  [ -f "$1" ] && [ -f "$1.d" ] || return 1
  local file
  for file in $(sed -e 's/^[^:]*://' -e 's/\\$//' "$1.d") tools/cuda.sh; do [ "$file" -nt "$1" ] && return 1; done
  return 0
}

compile() {
  local source=$1 object architectures=("${portable[@]}")
  object=${source#src/cuda/}
  object=$folder/${object//\//_}.o
  case $source in */hopper/forward_* | */hopper/backward_* | */hopper/decode_* | */hopper/summary_[0-9]*) architectures=("${hopper[@]}") ;; esac
  fresh "$object" && return 0
  "$nvcc" "${flags[@]}" "${architectures[@]}" -MD -MF "$object.d" -c "$source" -o "$object" >"$object.log" 2>&1 || { cat "$object.log"; rm -f "$object"; return 1; }
  if grep -E 'C75(08|09|1[0-6]|20)' "$object.log" || grep -E '[1-9][0-9]* bytes spill' "$object.log"; then
    echo "cuda: $source is slower than it looks: spills, or serialised products (details in $object.log)" >&2
    rm -f "$object"
    return 1
  fi
}
status=0
for source in src/cuda/hopper/*.cu src/cuda/*.cu; do
  compile "$source" &
  while [ "$(jobs -rp | wc -l)" -ge "${CUDA_JOBS:-2}" ]; do wait -n || status=1; done
done
while [ -n "$(jobs -rp)" ]; do wait -n || status=1; done
wait
[ $status = 0 ] || exit 1
"$nvcc" -shared -cudart static -L "$libraries" -Xlinker --exclude-libs,ALL -o "$folder/libattend_cuda.so" "$folder"/*.cu.o || exit 1
for beside in build/release build/release/python/attend; do
  if [ -d "$beside" ]; then cp "$folder/libattend_cuda.so" "$beside/"; fi
done
echo "cuda: $folder/libattend_cuda.so"
