// The sizes of a tile, by head size. Registers hold the output (d / 2), the scores (keys / 2) and the weights
// (keys / 4): 168 of 240 at most, since with more something spills. Two stages of keys and values and one of
// queries are at most 192 of the 227 KB of shared memory.
#pragma once

namespace attend::cuda {

template <int kHeadSize, int kKeysOfTile, int kEvery>
struct TileShape {
  static constexpr int kD = kHeadSize, kQueries = 128, kKeys = kKeysOfTile, kStages = 2;
  static constexpr int kChunks = kD / 64;  // of 64 columns
  static constexpr int kQueryBytes = kQueries * kD * 2, kKeyBytes = kKeys * kD * 2;
  // Every how many-th pair of exponentials is made by multiply-adds; 0: none. Per tile the special function
  // unit takes 64 / d of the tensor cores' time: all of it at 64, half at 128, where it hides.
  static constexpr int kPolynomialEvery = kEvery;
};

using Shape64 = TileShape<64, 128, 4>;
using Shape128 = TileShape<128, 128, 0>;
using Shape192 = TileShape<192, 96, 0>;
using Shape256 = TileShape<256, 48, 0>;
// With every option there is more to keep at hand.
using General64 = TileShape<64, 128, 4>;
using General128 = TileShape<128, 96, 0>;

}  // namespace attend::cuda
