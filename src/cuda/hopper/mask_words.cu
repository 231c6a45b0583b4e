#include "cuda/hopper/mask_words.h"

#include "cuda/error.h"
#include "cuda/hopper/hidden.h"
#include "cuda/walk.cuh"

namespace attend::cuda {
namespace {

struct Source {
  const unsigned char* data;
  std::int64_t strides[4];            // 0 where it is broadcast
  std::int32_t heads, rows, columns;  // that differ
  std::int32_t tiles, keys;           // of a row; columns of each
  std::int32_t parts;                 // of a row, kPart tiles each
  bool in_fours;                      // four neighbours lie at an address that takes them at once
};

// The four columns of a lane, a byte each, of a row that begins at `at`.
__device__ __forceinline__ std::uint32_t four_columns(const Source& from, const unsigned char* at,
                                                      std::int32_t tile, int lane) {
  if (tile >= from.tiles || 4 * lane >= from.keys) return 0;
  const std::int32_t column = tile * from.keys + 4 * lane;
  if (from.in_fours && column + 4 <= from.columns)
    return __ldg(reinterpret_cast<const std::uint32_t*>(at + column));
  std::uint32_t four = 0;
#pragma unroll
  for (int b = 0; b < 4; ++b) {
    if (from.strides[3] == 0 || column + b < from.columns)
      four |= static_cast<std::uint32_t>(at[(column + b) * from.strides[3]]) << 8 * b;
  }
  return four;
}

// A warp takes kBatch tiles at a time, so that it waits for memory once and stores 128 bytes, and kPart tiles
// of a row, so that it finds out seldom where a row is: that took most of the time when it did at each tile.
constexpr int kBatch = 8, kPart = 64;

__global__ void pack_mask(const Source from, std::int64_t rows, std::uint32_t* to) {
  const int lane = threadIdx.x % 32;
  const std::int64_t step = index_step() / 32;
  for (std::int64_t item = first_index() / 32; item < rows * from.parts; item += step) {
    const std::int64_t of_all = item / from.parts, other = of_all / from.rows;
    const unsigned char* const at = from.data + of_all % from.rows * from.strides[2] +
                                    other % from.heads * from.strides[1] +
                                    other / from.heads * from.strides[0];
    const auto begin = static_cast<std::int32_t>(item % from.parts) * kPart;
    const std::int32_t end = min(begin + kPart, from.tiles);
    for (std::int32_t tile = begin; tile < end; tile += kBatch) {
      std::uint32_t fours[kBatch], word = 0;
#pragma unroll
      for (int i = 0; i < kBatch; ++i) fours[i] = four_columns(from, at, tile + i, lane);
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        std::uint32_t ballots[4];
#pragma unroll
        for (int b = 0; b < 4; ++b) ballots[b] = __ballot_sync(~0u, (fours[i] >> 8 * b & 0xFF) != 0);
        if (lane / 4 == i) word = mask_word(ballots, lane % 4);
      }
      if (tile + lane / 4 < end) to[(of_all * from.tiles + tile) * 4 + lane] = word;
    }
  }
}

}  // namespace

PackedMask::PackedMask(plugin::Place place, const plugin::View& mask, int keys_of_tile) {
  if (mask.data == nullptr) return;
  const PlacedBroadcast placed = broadcast(mask);
  std::int64_t sizes[4] = {1, 1, 1, 1};
  const std::int64_t strides[4] = {placed.sequence, placed.head, placed.row, placed.element};
  for (int axis = 0; axis < mask.rank; ++axis) {
    const int to = 4 - mask.rank + axis;
    if (strides[to] != 0) sizes[to] = mask.shape[axis];
  }
  Source from{};
  from.data = reinterpret_cast<const unsigned char*>(placed.data);
  from.keys = keys_of_tile;
  from.in_fours = placed.element == 1;
  for (int axis = 0; axis < 4; ++axis) {
    from.strides[axis] = strides[axis];
    if (axis < 3 && strides[axis] % 4 != 0) from.in_fours = false;
  }
  if (reinterpret_cast<std::uintptr_t>(placed.data) % 4 != 0) from.in_fours = false;
  from.heads = static_cast<std::int32_t>(sizes[1]);
  from.rows = static_cast<std::int32_t>(sizes[2]);
  from.columns = static_cast<std::int32_t>(sizes[3]);
  from.tiles = (from.columns + keys_of_tile - 1) / keys_of_tile;
  from.parts = (from.tiles + kPart - 1) / kPart;

  const std::int64_t of_row = std::int64_t{from.tiles} * 4, of_head = of_row * sizes[2],
                     of_sequence = of_head * sizes[1];
  const std::int64_t rows = sizes[0] * sizes[1] * sizes[2];
  if (rows * of_row == 0) return;
  memory_ = Scratch(place, static_cast<std::size_t>(rows * of_row) * sizeof(std::uint32_t));
  words_ = {memory_.data<std::uint32_t>(), strides[0] == 0 ? 0 : of_sequence, strides[1] == 0 ? 0 : of_head,
            strides[2] == 0 ? 0 : of_row, strides[3] == 0 ? 0 : 4};
  pack_mask<<<walk_blocks(rows * from.parts * 32), kWalkThreads, 0,
              static_cast<cudaStream_t>(place.stream)>>>(from, rows, memory_.data<std::uint32_t>());
  check(cudaGetLastError(), "launch the packing of a mask");
}

}  // namespace attend::cuda
