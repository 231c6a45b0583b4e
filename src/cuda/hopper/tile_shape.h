// The sizes of a tile, by head size. Registers hold the output (d / 2), the scores (keys / 2) and the weights
// (keys / 4): 176 of 240 at most, since with more something spills; a bias takes as many as the scores. Two
// stages of keys and values (four at 64) and one or two of queries are at most 195 of the 227 KB of shared
// memory.
#pragma once

namespace attend::cuda {

template <int kHeadSize, int kKeysOfTile, int kEvery>
struct TileShape {
  static constexpr int kD = kHeadSize, kQueries = 128, kKeys = kKeysOfTile, kStages = kD == 64 ? 4 : 2;
  static constexpr int kChunks = kD / 64;  // of 64 columns
  static constexpr int kQueryBytes = kQueries * kD * 2, kKeyBytes = kKeys * kD * 2;
  // The next queries come while these are computed with, where there is room.
  static constexpr int kQueryStages = 2 * kQueryBytes + 2 * kStages * kKeyBytes <= 226 * 1024 - 2048 ? 2 : 1;
  // Of the 168 that each of 384 threads starts with: what a warpgroup that computes has, and one that
  // fetches.
  static constexpr int kConsumerRegisters = kD > 192 ? 240 : 232,
                       kProducerRegisters = 3 * 168 - 2 * kConsumerRegisters;
  // Every how many-th pair of exponentials is made by multiply-adds; 0: none. Per tile the special function
  // unit takes 64 / d of the tensor cores' time: all of it at 64, half at 128, where it hides. Other pipes
  // have little time to spare there: every 16th was 2% faster than every 4th or none.
  static constexpr int kPolynomialEvery = kEvery;
};

using Shape64 = TileShape<64, 128, 16>;
using Shape128 = TileShape<128, 128, 0>;
using Shape192 = TileShape<192, 96, 0>;
using Shape256 = TileShape<256, 64, 0>;
// Where a bias is held beside the scores, and where every option may be asked for.
using Biased64 = TileShape<64, 96, 0>;
using Biased128 = TileShape<128, 96, 0>;
using Every64 = TileShape<64, 64, 0>;
using Every128 = TileShape<128, 64, 0>;

}  // namespace attend::cuda
