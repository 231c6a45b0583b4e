// Few queries on many keys: where keys are cut, who takes which piece, and which register holds what.
#include "cuda/decode_plan.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>
#include <vector>

#include "cuda/hopper/fragments.h"

namespace attend {
namespace {

using namespace cuda;

TEST(CudaDecode, PiecesAreWholeTilesAndFewEnough) {
  std::int64_t most = 0;
  for (std::int64_t keys = 0; keys <= 300'000; keys += keys < 20'000 ? 1 : 97) {
    const std::int64_t piece = decode_piece(keys);
    ASSERT_EQ(piece % (32 * kPieceWarps), 0);
    ASSERT_GE(decode_pieces(keys) * piece, keys);
    ASSERT_LE(decode_pieces(keys), kMostPieces);
    most = std::max(most, decode_pieces(keys));
    ASSERT_GE(most_decode_pieces(keys), most) << keys;
  }
  EXPECT_EQ(most_decode_pieces(300'000), most);
  EXPECT_EQ(decode_piece(32'768), 1024);
  EXPECT_EQ(decode_piece(8'192), 1024);
}

TEST(CudaDecode, EveryItemIsTakenOnce) {
  const DecodeItems items{3, 2, 2, 5};
  std::set<std::tuple<int, int, int, int, int>> seen;
  for (std::int32_t index = 0; index < items.total(); ++index) {
    const DecodeItem item = items.at(index);
    ASSERT_TRUE(item.sequence < 3 && item.key_head < 2 && item.part < 2 && item.piece < 5);
    ASSERT_TRUE(seen.insert({item.sequence, item.key_head, item.part, item.piece, item.quarter}).second);
  }
  // Blocks and warps take every number once, and the warps of a piece are of one block.
  for (const int warps : {4, 8}) {
    for (const int blocks : {1, 7, 132}) {
      std::set<std::int64_t> numbers;
      for (int turn = 0; turn < 3; ++turn) {
        for (int block = 0; block < blocks; ++block) {
          for (int warp = 0; warp < warps; ++warp) {
            const std::int64_t number = DecodeItems::number(turn, warp, warps, block, blocks);
            ASSERT_TRUE(numbers.insert(number).second);
            ASSERT_EQ(number / kPieceWarps % blocks, block);
            if (turn > 0) {
              ASSERT_GT(number, DecodeItems::number(turn - 1, warp, warps, block, blocks));
            }
          }
        }
      }
      ASSERT_EQ(*numbers.rbegin(), 3 * blocks * warps - 1);
    }
  }
}

// Over all pieces a row's keys are covered once, and what is taken for seen by all is.
TEST(CudaDecode, PiecesCoverWhatRowsSee) {
  for (const std::int64_t key_count : {0, 1, 63, 64, 200, 1024, 5000}) {
    for (const std::int64_t offset : {-3, 0, 150, 4999}) {
      for (const std::int64_t left : {-1, 0, 100}) {
        for (const bool causal : {false, true}) {
          for (const std::int64_t queries : {1, 3, 8}) {
            for (const std::int64_t group : {1, 3, 4, 16, 71}) {
              const Visible visible{key_count, offset, left, -1, causal};
              for (std::int32_t part = 0; part * 16 < queries * group; ++part) {
                for (std::int64_t row = part * 16; row < std::min(part * 16 + 16L, queries * group); ++row) {
                  const KeySpan span = visible.keys_of(row / group);
                  std::int64_t covered = 0;
                  for (std::int32_t piece = 0; piece < decode_pieces(key_count); ++piece) {
                    const DecodeKeys keys = DecodeKeys::of(visible, queries, group, part, piece);
                    const std::int64_t begin = std::max(keys.begin, span.begin),
                                       end = std::min(keys.end, span.end);
                    for (const int tile_keys : {16, 32}) {
                      for (std::int32_t quarter = 0; quarter < kPieceWarps && !keys.empty(); ++quarter) {
                        for (std::int32_t tile = keys.first_tile(tile_keys, quarter);
                             tile < keys.tile_end(tile_keys); tile += kPieceWarps) {
                          const std::int64_t from = std::max<std::int64_t>(begin, tile * tile_keys),
                                             to = std::min<std::int64_t>(end, (tile + 1) * tile_keys);
                          covered += std::max<std::int64_t>(0, to - from);
                        }
                      }
                    }
                    if (keys.all_begin < keys.all_end) {
                      ASSERT_LE(span.begin, keys.all_begin);
                      ASSERT_GE(span.end, keys.all_end);
                    }
                  }
                  ASSERT_EQ(covered, 2 * (span.end - span.begin));
                }
              }
            }
          }
        }
      }
    }
  }
}

// ldmatrix and mma m16n8k16 as the instruction set describes them, on a tile that holds its own coordinates.
struct TilePlace {
  int key = 0, column = 0;
};

struct SwizzledTile {
  std::vector<TilePlace> halves;  // by address / 2

  SwizzledTile(int keys, int d) : halves(static_cast<std::size_t>(keys * d)) {
    for (int key = 0; key < keys; ++key) {
      for (int column = 0; column < d; ++column) {
        // What the copy engine does with 64 columns a row and a swizzle of 128 bytes: bits 4 to 6 of an
        // address are exchanged with bits 7 to 9 by exclusive or.
        const int plain = column / 64 * keys * 128 + key * 128 + column % 64 * 2;
        const int address = plain ^ ((plain >> 7 & 7) << 4);
        halves[static_cast<std::size_t>(address / 2)] = {key, column};
      }
    }
  }
};

// Half `part` of register j of a lane, when lane l gives address(l).
template <class Address>
TilePlace loaded_half(const SwizzledTile& tile, Address address, int lane, int j, int part, bool turned) {
  const int row = turned ? lane % 4 * 2 + part : lane / 4, element = turned ? lane / 4 : lane % 4 * 2 + part;
  return tile.halves[static_cast<std::size_t>(address(8 * j + row) / 2 + element)];
}

TEST(CudaDecode, MatricesAreTheOperandsOfTheProducts) {
  for (const auto& [keys, d] : {std::pair{16, 128}, {32, 64}, {16, 256}, {32, 192}}) {
    const SwizzledTile tile(keys, d);
    for (int lane = 0; lane < 32; ++lane) {
      for (int j = 0; j < 4; ++j) {
        for (int part = 0; part < 2; ++part) {
          for (int step = 0; step < d / 16; ++step) {
            for (int x = 0; x < keys / 16; ++x) {
              // The second operand of q k^T: element k of key n. Register j % 2 has k = 8 (j % 2) + 2 (lane %
              // 4) + part.
              const TilePlace at = loaded_half(
                  tile, [&](int l) { return swizzled_bytes(key_matrix_row(l, x, step), keys); }, lane, j,
                  part, false);
              ASSERT_EQ(at.key, (2 * x + j / 2) * 8 + lane / 4);
              ASSERT_EQ(at.column, step * 16 + j % 2 * 8 + lane % 4 * 2 + part);
            }
          }
          for (int step = 0; step < keys / 16; ++step) {
            for (int x = 0; x < d / 16; ++x) {
              const TilePlace at = loaded_half(
                  tile, [&](int l) { return swizzled_bytes(value_matrix_row(l, step, x), keys); }, lane, j,
                  part, true);
              ASSERT_EQ(at.key, step * 16 + j % 2 * 8 + lane % 4 * 2 + part);
              ASSERT_EQ(at.column, (2 * x + j / 2) * 8 + lane / 4);
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace attend
