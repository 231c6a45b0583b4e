// Few queries on many keys, the keys cut into pieces: what a launch is given, and its launchers.
#pragma once

#include <cuda.h>

#include "cuda/attention.h"
#include "cuda/decode_plan.h"

namespace attend::cuda {

// A warp takes tiles of `keys` keys, `stages` of them on their way at any time: some 190 KB on every
// multiprocessor, which is what hides the latency of memory.
template <int kHeadSize, int kKeysOfTile, int kWarpsOfBlock, int kStagesOfWarp>
struct DecodeShape {
  static constexpr int kD = kHeadSize, kKeys = kKeysOfTile, kWarps = kWarpsOfBlock, kStages = kStagesOfWarp;
  static constexpr int kChunks = kD / 64, kTileBytes = kKeys * kD * 2;
  // Rows of queries are kept in registers where these suffice, else beside the tiles.
  static constexpr bool kQueriesInMemory = kD > 128;
  static constexpr int kQueryBytes = kQueriesInMemory ? kDecodeRows * kD * 2 : 0;
};

using Decode64 = DecodeShape<64, 32, 8, 3>;
using Decode128 = DecodeShape<128, 16, 8, 3>;
using Decode192 = DecodeShape<192, 16, 4, 4>;
using Decode256 = DecodeShape<256, 16, 4, 3>;

struct DecodeParameters {
  CUtensorMap k, v;
  Problem problem;
  ForwardTarget target;
  DecodeItems items;
  std::int64_t most_queries;  // of a sequence that is decoded
  float log2_scale;
  int pairs_of_queries;  // whether two elements may be loaded at once
  float* sums;           // (sequence, head, query, piece, warp, kD): sums of weights times values
  float2*
      state;  // (sequence, head, query, piece, warp): the largest score in powers of 2, the sum of weights

  ATTEND_BOTH std::int64_t row(std::int64_t s, std::int64_t h, std::int64_t i) const {
    return (s * problem.heads + h) * most_queries + i;
  }
};

template <class Shape>
void launch_decode(plugin::Place place, const DecodeParameters& parameters, int multiprocessors);

extern template void launch_decode<Decode64>(plugin::Place, const DecodeParameters&, int);
extern template void launch_decode<Decode128>(plugin::Place, const DecodeParameters&, int);
extern template void launch_decode<Decode192>(plugin::Place, const DecodeParameters&, int);
extern template void launch_decode<Decode256>(plugin::Place, const DecodeParameters&, int);

}  // namespace attend::cuda
