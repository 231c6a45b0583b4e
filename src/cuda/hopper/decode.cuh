// Few queries on many keys: memory is what this takes, so every byte of K and V is read once. The rows are the queries
// of a sequence times the heads that share a key head. A block takes pieces of the keys, one after the other: one warp
// fetches tiles by TMA, 130 to 190 KB ahead and on into the next pieces, the others multiply by mma.sync. A second
// kernel puts the pieces of a row together; it is there before the first one ends, and so is the next call's.
#pragma once

#include "cuda/error.h"
#include "cuda/hopper/decode_merge.cuh"
#include "cuda/hopper/decoder.cuh"
#include "cuda/stream.h"

namespace attend::cuda {

template <class T, class Shape, int kProducts>
__device__ void decode_pieces(const DecodeParameters& p, DecodeMemory<Shape>& memory, int warp, int lane) {
  const bool looks_up = p.problem.mask.data != nullptr || p.problem.bias.data != nullptr;
  const int team = warp / Shape::kTeam, first_row = warp % Shape::kTeam * Shape::kKeys;
  const int first_byte = first_row * kRowBytes;
  DecodeQueue queue(p);
  DecodeItem item;
  DecodeKeys keys;
  RingPlace<Shape> ring;
  Decoder<T, Shape, kProducts> decoder(p, memory);
  while (queue.pop(p, item, keys)) {
    decoder.start(item);
    const int last = keys.tile_end(Shape::kTile);
#pragma unroll 1
    for (int tile = keys.first_tile(Shape::kTile); tile < last; ++tile, ring.step()) {
      if (tile % Shape::kTeams != team) continue;
      const int first_key = tile * Shape::kTile + first_row;
      barrier_wait(&memory.full[ring.stage], ring.phase);
      if (first_key < keys.end && first_key + Shape::kKeys > keys.begin) {
        const bool hides = first_key < keys.all_begin || first_key + Shape::kKeys > keys.all_end;
        const char* const values = memory.stages[ring.stage].v + first_byte;
        decoder.multiply_keys(shared_address(memory.stages[ring.stage].k) + first_byte);
        decoder.apply_options(first_key, hides);
        decoder.softmax();
        if (hides || looks_up) {
          decoder.template multiply_values<true>(shared_address(values), values, first_key);
        } else {
          decoder.template multiply_values<false>(shared_address(values), values, first_key);
        }
      }
      __syncwarp();
      if (lane == 0) barrier_arrive(&memory.empty[ring.stage]);
    }
    decoder.store();
  }
}

template <class T, class Shape, int kProducts>
__global__ void __launch_bounds__((Shape::kWarps + 1) * 32, 1) decode_kernel(const __grid_constant__ DecodeParameters p) {
  extern __shared__ char raw[];
  auto& memory = *reinterpret_cast<DecodeMemory<Shape>*>((reinterpret_cast<std::uintptr_t>(raw) + 1023) &
                                                         ~std::uintptr_t{1023});
  const int warp = uniform(threadIdx.x / 32), lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    for (int i = 0; i < Shape::kStages; ++i) {
      barrier_init(&memory.full[i], 1);
      barrier_init(&memory.empty[i], Shape::kTeam);
    }
    barriers_ready();
  }
  __syncthreads();
  asm volatile("griddepcontrol.wait;" ::: "memory");  // what comes before may still be writing queries or keys
  if (warp == Shape::kWarps) {
    fetch_pieces<Shape>(p, memory);
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  } else {
    decode_pieces<T, Shape, kProducts>(p, memory, warp, lane);
  }
}

// A launch that may get ready while the one before it ends; its kernel waits for that itself.
template <class Kernel, class... Arguments>
void launch_early(plugin::Place place, Kernel kernel, unsigned blocks, int threads, int bytes, const char* doing,
                  const Arguments&... arguments) {
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), doing);
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = is_capturing(place) ? 0 : 1;
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = static_cast<unsigned>(threads);
  config.dynamicSmemBytes = static_cast<std::size_t>(bytes);
  config.stream = static_cast<cudaStream_t>(place.stream);
  config.attrs = &early;
  config.numAttrs = 1;
  check(cudaLaunchKernelEx(&config, kernel, arguments...), doing);
}

template <class Shape>
void launch_decode(plugin::Place place, const DecodeParameters& parameters, int blocks) {
  if (blocks > 0) {
    const bool half = parameters.problem.q.number == Number::f16;
    auto kernel = half ? decode_kernel<__half, Shape, 1> : decode_kernel<__nv_bfloat16, Shape, 1>;
    if constexpr (Shape::kMostProducts == 2) {
      if (parameters.part_rows == 16) kernel = half ? decode_kernel<__half, Shape, 2> : decode_kernel<__nv_bfloat16, Shape, 2>;
    }
    launch_early(place, kernel, static_cast<unsigned>(blocks), (Shape::kWarps + 1) * 32, sizeof(DecodeMemory<Shape>) + 1024, "launch decoding", parameters);
  }
  int runs = 1;
  while (runs * kRun < parameters.pieces) runs *= 2;
  const int rows_of_block = runs < 4 ? 4 / runs : 1, warps = rows_of_block * runs;
  const std::int64_t rows = parameters.row(parameters.sequences, 0, 0);
  launch_early(place, decode_merge_kernel<Shape>, static_cast<unsigned>((rows + rows_of_block - 1) / rows_of_block),
               warps * 32, warps * (Shape::kD + 1) * static_cast<int>(sizeof(float)), "launch the merging of pieces",
               parameters, runs);
}

}  // namespace attend::cuda
