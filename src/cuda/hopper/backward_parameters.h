// The tiles of the fast backward pass, what its launches are given, and its launchers.
#pragma once

#include <cuda.h>

#include "cuda/backward.h"

namespace attend::cuda {

// Both kernels own 128 rows, 64 for each of two warpgroups. Registers of a thread:
//   of keys:     d_k and d_v (d), scores and their gradients (queries), one of them rounded (queries / 4)
//   of queries:  d_q (d / 2), scores, weights and their gradients (3 keys / 2), rounded (keys / 4)
template <int kHeadSize, int kQueriesOfTile, int kStagesOfQueries, int kKeysOfTile, int kStagesOfKeys>
struct BackwardShape {
  static constexpr int kD = kHeadSize, kChunks = kD / 64;
  static constexpr int kOwned = 128, kOwnedBytes = kOwned * kD * 2;
  static constexpr int kQueries = kQueriesOfTile, kQueryStages = kStagesOfQueries;  // what goes by the keys
  // Of a thread that fetches and of one that computes, in the kernel of the keys: 504 for one and twice the
  // other.
  static constexpr int kFetching = 24, kComputing = 240;
  static constexpr int kKeys = kKeysOfTile, kKeyStages = kStagesOfKeys;  // what goes by the queries
};

using Backward64 = BackwardShape<64, 64, 4, 96, 4>;
using Backward128 = BackwardShape<128, 64, 4, 64, 4>;

// All tensors are fetched in boxes of so many rows, of which a tile has several.
inline constexpr int kBackwardBox = 32;

// How pairs of neighbours are stored.
enum class StoreAs : std::int32_t { elements, pairs_of_16_bits, pairs_of_floats };

struct BackwardParameters {
  CUtensorMap q, k, v, d_out;
  BackwardProblem backward;
  float log2_scale;  // scale * log2(e)
  StoreAs store_q, store_k, store_v;
  std::int32_t tiles, rows;  // of 128 queries or keys; sequences * heads
  std::int32_t by_tile;      // which comes first: all rows of a tile, or all tiles of a row
};

template <class Shape>
void launch_backward_keys(plugin::Place place, const BackwardParameters& parameters);
template <class Shape>
void launch_backward_queries(plugin::Place place, const BackwardParameters& parameters);

extern template void launch_backward_keys<Backward64>(plugin::Place, const BackwardParameters&);
extern template void launch_backward_keys<Backward128>(plugin::Place, const BackwardParameters&);
extern template void launch_backward_queries<Backward64>(plugin::Place, const BackwardParameters&);
extern template void launch_backward_queries<Backward128>(plugin::Place, const BackwardParameters&);

}  // namespace attend::cuda
