// The tiles of the fast backward pass, what its launches are given, and its launchers.
#pragma once

#include <cuda.h>

#include "cuda/backward.h"
#include "cuda/hopper/backward_order.h"

namespace attend::cuda {

inline constexpr int kOwnedKeys = 128;  // of a block, 64 for each of two warpgroups

// Registers of a thread: d_k and d_v (d), scores and what becomes their gradients (queries), both rounded
// (queries / 2), d_q (32), not all at once. In shared memory everything together is 210 or 226 of 227 KB.
template <int kHeadSize, int kQueriesOfTile, int kStagesOfQueries, int kStagesOfSums, int kInFlight>
struct BackwardShape {
  static constexpr int kD = kHeadSize, kChunks = kD / 64;
  static constexpr int kKeyBytes = kOwnedKeys * kD * 2;
  static constexpr int kQueries = kQueriesOfTile, kQueryChunks = kQueries / 64,
                       kQueryBytes = kQueries * kD * 2;
  static constexpr int kQueryStages = kStagesOfQueries, kOutStages = 2;
  // Each warpgroup makes 64 x 64 of d_q: half of the columns, or half of the queries.
  static constexpr int kQuerySums = 64 * 64, kSumStages = kStagesOfSums;
  static constexpr int kProductsLeft = kInFlight;  // while weights are made
  // Of a thread that fetches and of one that computes: 504 for one and twice the other.
  static constexpr int kFetching = 24, kComputing = 240;
};

using Backward64 = BackwardShape<64, 128, 3, 1, 1>;
using Backward128 = BackwardShape<128, 64, 2, 2, 0>;

// All tensors are fetched in boxes of this many rows; a tile is one or two of them.
inline constexpr int kBackwardBox = 64;

// How pairs of neighbours are stored.
enum class StoreAs : std::int32_t { elements, pairs_of_16_bits, pairs_of_floats };

// The sums of d_q, a tile of queries after the other, the halves of both warpgroups in turn, each as its
// registers lie: four of a thread, then those of the next thread. `next` has a number for each tile: the
// tile of keys that is to be added next, or 0 where nothing has been added; `begun` counts blocks.
struct QuerySums {
  QuerySumsLayout layout;
  float* sums;
  std::int32_t* next;
  std::int32_t* begun;
};

struct BackwardParameters {
  CUtensorMap q, k, v, d_out;
  BackwardProblem backward;
  float log2_scale;  // scale * log2(e)
  StoreAs store_k, store_v;
  BackwardOrder order;
  QuerySums query_sums;
};

template <class Shape>
void launch_backward(plugin::Place place, const BackwardParameters& parameters);

extern template void launch_backward<Backward64>(plugin::Place, const BackwardParameters&);
extern template void launch_backward<Backward128>(plugin::Place, const BackwardParameters&);

// d_q of its sums: scaled, and as its view has it; 0 where nothing has been added.
void store_query_sums(plugin::Place place, const BackwardProblem& backward, const QuerySums& sums,
                      std::int64_t sequences, std::int64_t tiles, std::int64_t head_size);

}  // namespace attend::cuda
