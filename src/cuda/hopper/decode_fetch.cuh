// What the warps of a decoding block share: the pieces that are theirs, in order, and the ring of tiles, which one
// warp fills.
#pragma once

#include "cuda/head.cuh"
#include "cuda/hopper/decode.h"
#include "cuda/hopper/fragments.h"
#include "cuda/hopper/instructions.cuh"

namespace attend::cuda {

inline constexpr float kDecodeLog2e = 1.4426950408889634f, kDecodeLn2 = 0.69314718055994531f;

// Rows whose sums the warps put together at a time, and the room of one: 4 more, so that what a warp stores at a time
// is in different banks.
inline constexpr int kRowsTogether = 4;
template <class Shape>
inline constexpr int kRowRoom = Shape::kD + 4;

// One of the rows of a product: which query of which head, and the keys [begin, end) that it sees.
struct alignas(16) DecodeRow {
  std::int32_t query, head, begin, end;
};

template <class Shape>
struct DecodeMemory {
  struct Stage {
    alignas(1024) char k[Shape::kTileBytes];
    alignas(1024) char v[Shape::kTileBytes];
  };
  Stage stages[Shape::kStages];
  alignas(16) float sums[Shape::kWarps][kRowsTogether][kRowRoom<Shape>];
  DecodeRow rows[kMostRowsOfPart];
  DecodeItem item;  // that is computed now
  std::int32_t row_count;
  float2 state[Shape::kWarps][kMostRowsOfPart];
  std::uint64_t full[Shape::kStages], empty[Shape::kStages];
};

__device__ __forceinline__ Sequence decode_sequence(const DecodeParameters& p, std::int64_t s) {
  return p.problem.each == nullptr ? p.problem.same : p.problem.each[s];
}
__device__ __forceinline__ Visible decode_visible(const DecodeParameters& p, const Sequence& sequence) {
  return {sequence.key_count, sequence.query_offset, p.problem.window_left, p.problem.window_right,
          p.problem.causal != 0};
}
__device__ __forceinline__ DecodeKeys decode_keys(const DecodeParameters& p, const DecodeItem& item) {
  const Sequence sequence = decode_sequence(p, item.sequence);
  if (sequence.queries > kMostDecodedQueries) return {};
  return DecodeKeys::of(decode_visible(p, sequence), sequence.queries, p.problem.group, p.part_rows, item.part, item.piece);
}
__device__ __forceinline__ DecodeWork decode_work(const DecodeParameters& p, std::int64_t s) {
  const Sequence sequence = decode_sequence(p, s);
  return DecodeWork::of(decode_visible(p, sequence), sequence.queries, p.problem.group, p.part_rows);
}

// The pieces of a block, in order. Every warp runs through a queue of its own.
struct DecodeQueue {
  DecodeStart at;

  __device__ explicit DecodeQueue(const DecodeParameters& p) : at(p.starts[blockIdx.x]) {}
  __device__ bool pop(const DecodeParameters& p, DecodeItem& item, DecodeKeys& keys) {
    while (at.before(end(p))) {
      const DecodeWork work = decode_work(p, at.sequence);  // again each time: it would take registers to keep
      if (at.number >= work.of_head() * p.key_heads) {
        next_sequence(p);
        continue;
      }
      item = work.at(at.sequence, at.number++);
      keys = decode_keys(p, item);
      if (!keys.empty()) return true;
    }
    return false;
  }
  // The next one that has work, or the last of the block's: 32 are looked at side by side.
  __device__ void next_sequence(const DecodeParameters& p) {
    at.number = 0;
    for (++at.sequence; at.sequence < end(p).sequence; at.sequence += 32) {
      const std::int32_t mine = at.sequence + static_cast<std::int32_t>(threadIdx.x % 32);
      const std::uint32_t found = __ballot_sync(~0u, mine < end(p).sequence && decode_work(p, mine).pieces != 0);
      if (found == 0) continue;
      at.sequence += __ffs(static_cast<int>(found)) - 1;
      break;
    }
    at.sequence = min(at.sequence, end(p).sequence);
  }
  __device__ static const DecodeStart& end(const DecodeParameters& p) { return p.starts[blockIdx.x + 1]; }
};

// A place in the ring of tiles: those of all pieces of a block, one after the other.
template <class Shape>
struct RingPlace {
  int stage = 0, phase = 0;

  __device__ __forceinline__ void step() {
    if (++stage == Shape::kStages) {
      stage = 0;
      phase ^= 1;
    }
  }
};

template <class Shape>
__device__ void fetch_pieces(const DecodeParameters& p, DecodeMemory<Shape>& memory) {
  const bool leads = threadIdx.x % 32 == 0;
  DecodeQueue queue(p);
  DecodeItem item;
  DecodeKeys keys;
  RingPlace<Shape> ring;
  while (queue.pop(p, item, keys)) {
    const auto key_begin = static_cast<std::int32_t>(decode_sequence(p, item.sequence).key_begin);
    const int sequence = p.problem.packed != 0 ? 0 : item.sequence, end = keys.tile_end(Shape::kTile);
    if (leads) {
      for (int tile = keys.first_tile(Shape::kTile); tile < end; ++tile) {
        auto& to = memory.stages[ring.stage];
        std::uint64_t* const full = &memory.full[ring.stage];
        const int row = key_begin + tile * Shape::kTile;
        barrier_wait(&memory.empty[ring.stage], ring.phase ^ 1);
        barrier_expect(full, 2 * Shape::kTileBytes);
#pragma unroll
        for (int c = 0; c < Shape::kChunks; ++c)
          copy_box(to.k + c * Shape::kTile * kRowBytes, &p.k, full, c * kChunkColumns, row, item.key_head, sequence);
#pragma unroll
        for (int c = 0; c < Shape::kChunks; ++c)
          copy_box(to.v + c * Shape::kTile * kRowBytes, &p.v, full, c * kChunkColumns, row, item.key_head, sequence);
        ring.step();
      }
    }
    __syncwarp();
  }
}

}  // namespace attend::cuda
