// What the threads of a block share: its memory with the barriers between them, and which tiles come next.
#pragma once

#include "cuda/hopper/instructions.cuh"
#include "cuda/hopper/parameters.h"

namespace attend::cuda {

// Whether a key inside of what a query sees by position may be hidden.
constexpr bool hides_anywhere(Variant variant) {
  return variant == Variant::masked || variant == Variant::biased || variant == Variant::every;
}

// Full: the copy engine has brought a tile. Checked: the values of a tile with hidden keys are numbers, see
// check_values(). Empty: everybody is done with it, two warpgroups; with values, every warp for itself, since
// what it read of `found` is then over, too.
inline constexpr int kCheckers = 3, kConsumers = 8;

template <class Shape>
struct HopperMemory {
  alignas(1024) char q[Shape::kQueryStages][Shape::kQueryBytes];
  alignas(1024) char k[Shape::kStages][Shape::kKeyBytes];
  alignas(1024) char v[Shape::kStages][Shape::kKeyBytes];
  std::uint64_t q_full[Shape::kQueryStages], q_empty[Shape::kQueryStages];
  std::uint64_t k_full[Shape::kStages], k_empty[Shape::kStages];
  std::uint64_t v_full[Shape::kStages], v_checked[Shape::kStages], v_empty[Shape::kStages];
  float nothing;                                    // 0, see GuessedWeights
  volatile unsigned char found[Shape::kStages][4];  // by a checker: values that were no numbers

  __device__ void init() {
    nothing = 0;
    for (int i = 0; i < Shape::kQueryStages; ++i) {
      barrier_init(&q_full[i], 1);
      barrier_init(&q_empty[i], 2);
    }
    for (int i = 0; i < Shape::kStages; ++i) {
      barrier_init(&k_full[i], 1);
      barrier_init(&k_empty[i], 2);
      barrier_init(&v_full[i], 1);
      barrier_init(&v_checked[i], kCheckers);
      barrier_init(&v_empty[i], kConsumers + kCheckers);
      for (int w = 0; w < 4; ++w) found[i][w] = 0;
    }
    barriers_ready();
  }
};

// A tile of queries and the tiles of keys that it looks at. What can be looked up again is not kept:
// registers are what the loop is short of.
template <class Shape>
struct Work {
  std::int32_t s = 0, h = 0, first = 0;  // the first query
  KeyTiles tiles;

  Work() = default;
  __device__ Work(const HopperParameters& p, int index) {
    const QueryTile at = p.schedule.at(index);
    s = at.row / p.problem.heads;
    h = at.row % p.problem.heads;
    first = at.tile * Shape::kQueries;
    if (exists(p)) tiles = KeyTiles::of(visible(p), first, last(p), Shape::kQueries, Shape::kKeys);
  }
  __device__ Sequence sequence(const HopperParameters& p) const {
    return p.problem.each == nullptr ? p.problem.same : p.problem.each[s];
  }
  __device__ Visible visible(const HopperParameters& p) const {
    const Sequence at = sequence(p);
    return {at.key_count, at.query_offset, p.problem.window_left, p.problem.window_right,
            p.problem.causal != 0};
  }
  __device__ std::int64_t last(const HopperParameters& p) const {
    return min(std::int64_t{first} + Shape::kQueries, sequence(p).queries) - 1;
  }
  __device__ bool exists(const HopperParameters& p) const {
    return first < sequence(p).queries && sequence(p).queries > p.problem.few;
  }
  // Whether some query of the tile does not see some key of it by position.
  __device__ __forceinline__ bool hides(int tile) const {
    return tile < tiles.all_begin || tile >= tiles.all_end;
  }
  // The assembler must see that a warp's threads agree on these, or it makes products wait for each other.
  __device__ __forceinline__ void make_uniform() {
    tiles = {uniform(tiles.begin), uniform(tiles.all_begin), uniform(tiles.all_end), uniform(tiles.end)};
  }
};

// Calls use(work) for every tile of queries that is this block's, in order.
template <class Shape, class Use>
__device__ __forceinline__ void for_each_work(const HopperParameters& p, Use use) {
  for (int start = 0; start < p.schedule.total(); start += gridDim.x) {
    const int index = p.schedule.index(start, blockIdx.x, gridDim.x);
    if (index >= p.schedule.total()) continue;
    Work<Shape> work(p, index);
    use(work);
  }
}

}  // namespace attend::cuda
