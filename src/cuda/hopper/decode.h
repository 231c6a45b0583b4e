// Few queries on many keys, the keys cut into pieces: what a launch is given, and its launchers.
#pragma once

#include <cuda.h>

#include "cuda/attention.h"
#include "cuda/decode_plan.h"

namespace attend::cuda {

// One warp fetches tiles of kTile keys into a ring of kStages, and the others compute. Of a tile each of a
// team of kTeam warps takes kKeys keys; teams take the tiles in turns, and each warp keeps sums of its own
// until the piece ends.
template <int kHeadSize, int kKeysOfWarp, int kKeysOfTile, int kWarpsThatCompute, int kStagesOfRing>
struct DecodeShape {
  static constexpr int kD = kHeadSize, kKeys = kKeysOfWarp, kTile = kKeysOfTile, kWarps = kWarpsThatCompute,
                       kStages = kStagesOfRing;
  static constexpr int kTeam = kTile / kKeys, kTeams = kWarps / kTeam;
  static_assert(kTeam * kKeys == kTile && kTeams * kTeam == kWarps);
  // So that inside a piece a stage is of one team only: another could take a phase that it has missed for its
  // own.
  static_assert(kStages % kTeams == 0);
  static constexpr int kChunks = kD / 64, kTileBytes = kTile * kD * 2;
  // Products of 8 rows that a warp has registers for.
  static constexpr int kMostProducts = kD <= 128 ? 2 : 1;
};

using Decode64 = DecodeShape<64, 32, 128, 8, 4>;
using Decode128 = DecodeShape<128, 32, 64, 6, 6>;
using Decode192 = DecodeShape<192, 16, 32, 8, 8>;
using Decode256 = DecodeShape<256, 16, 32, 6, 6>;

struct DecodeParameters {
  CUtensorMap k, v;
  Problem problem;
  ForwardTarget target;
  std::int32_t sequences, key_heads, pieces;  // pieces: room for those of a row
  DecodeStart starts[kMostBlocks + 1];
  std::int64_t most_queries;  // of a sequence that is decoded
  float log2_scale;
  int part_rows;         // 8 or 16
  int pairs_of_queries;  // whether two elements may be loaded at once
  // (sequence, head, query, piece): sums of weights times values, kD of them; the largest score in powers of
  // 2 and the sum of weights.
  float* sums;
  float2* state;

  ATTEND_BOTH std::int64_t row(std::int64_t s, std::int64_t h, std::int64_t i) const {
    return (s * problem.heads + h) * most_queries + i;
  }
};

template <class Shape>
void launch_decode(plugin::Place place, const DecodeParameters& parameters, int blocks);

extern template void launch_decode<Decode64>(plugin::Place, const DecodeParameters&, int);
extern template void launch_decode<Decode128>(plugin::Place, const DecodeParameters&, int);
extern template void launch_decode<Decode192>(plugin::Place, const DecodeParameters&, int);
extern template void launch_decode<Decode256>(plugin::Place, const DecodeParameters&, int);

}  // namespace attend::cuda
