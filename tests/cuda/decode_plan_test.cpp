// Few queries on many keys: where keys are cut, who takes which piece, and which register holds what.
#include "cuda/decode_plan.h"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "cuda/hopper/fragments.h"
#include "cuda/hopper/matrix_loads.h"

namespace attend {
namespace {

using namespace cuda;

TEST(CudaDecode, PiecesAreWholeTilesAndFewEnough) {
  std::int64_t most = 0;
  for (std::int64_t keys = 0; keys <= 300'000; keys += keys < 20'000 ? 1 : 97) {
    const std::int64_t piece = decode_piece(keys);
    ASSERT_EQ(piece % 256, 0);  // whole tiles, of every team
    ASSERT_GE(decode_pieces(keys) * piece, keys);
    ASSERT_LE(decode_pieces(keys), kMostPieces);
    most = std::max(most, decode_pieces(keys));
    ASSERT_GE(most_decode_pieces(keys), most) << keys;
  }
  EXPECT_EQ(most_decode_pieces(300'000), most);
  EXPECT_EQ(decode_piece(32'768), 1024);
  EXPECT_EQ(decode_piece(8'192), 1024);
}

struct Decoded {
  Visible visible;
  std::int64_t queries = 0;
  std::int32_t group = 1, part_rows = 16;
  DecodeWork work() const { return DecodeWork::of(visible, queries, group, part_rows); }
};

// Batches of all kinds: alike, of different lengths, with windows, and with sequences that are not decoded.
std::vector<std::vector<Decoded>> batches() {
  std::vector<std::vector<Decoded>> all;
  for (const std::int64_t window : {-1, 0, 700}) {
    for (const auto& [group, part_rows] : {std::pair{1, 8}, {1, 16}, {4, 8}, {4, 16}, {7, 16}}) {
      const auto sequence = [window, group = group, part_rows = part_rows](std::int64_t keys,
                                                                           std::int64_t queries) {
        return Decoded{{keys, keys - queries, window, -1, true}, queries, group, part_rows};
      };
      all.push_back({});
      all.push_back({sequence(0, 1)});
      all.push_back({sequence(32'768, 1)});
      all.push_back(std::vector<Decoded>(64, sequence(4096, 1)));
      all.push_back(
          {sequence(5000, 3), sequence(5000, 0), sequence(5000, 9), sequence(1, 1), sequence(70'000, 8)});
      std::vector<Decoded> mixed(40, sequence(900, 1));
      mixed[3] = mixed[39] = sequence(100'000, 2);
      for (std::size_t s = 10; s < 30; ++s) mixed[s] = sequence(300, 200);
      all.push_back(mixed);
    }
  }
  return all;
}

// Every piece that some row sees is of one block, in order, and blocks get about as much to do.
TEST(CudaDecode, PiecesAreDealtOnceAndFairly) {
  for (const std::vector<Decoded>& batch : batches()) {
    for (const std::int32_t key_heads : {1, 8}) {
      std::vector<std::tuple<int, int, int, int>> expected;
      std::int64_t cost = 0, dearest = 0;
      const auto sequences = static_cast<std::int32_t>(batch.size());
      for (std::int32_t s = 0; s < sequences; ++s) {
        const Decoded& sequence = batch[static_cast<std::size_t>(s)];
        if (sequence.queries < 1 || sequence.queries > kMostDecodedQueries) continue;
        const std::int64_t parts =
            (sequence.queries * sequence.group + sequence.part_rows - 1) / sequence.part_rows;
        for (int head = 0; head < key_heads; ++head) {
          for (int piece = 0; piece < decode_pieces(sequence.visible.key_count); ++piece) {
            std::int64_t begin = INT64_MAX, end = 0;
            for (std::int64_t i = 0; i < sequence.queries; ++i) {
              const std::int64_t start = piece * decode_piece(sequence.visible.key_count),
                                 stop = start + decode_piece(sequence.visible.key_count);
              const KeySpan span = sequence.visible.keys_of(i);
              if (std::max(span.begin, start) >= std::min(span.end, stop)) continue;
              begin = std::min(begin, std::max(span.begin, start));
              end = std::max(end, std::min(span.end, stop));
            }
            if (begin >= end) continue;
            for (int part = 0; part < parts; ++part) expected.emplace_back(s, head, piece, part);
            const std::int64_t here = (end - begin + DecodeWork::kPieceCost) * parts;
            cost += here;
            dearest = std::max(dearest, here);
          }
        }
      }
      for (const std::int32_t blocks : {1, 7, 132}) {
        std::vector<DecodeStart> starts(static_cast<std::size_t>(blocks) + 1, DecodeStart{-1, -1});
        deal_pieces(
            sequences, key_heads, [&](std::int32_t s) { return batch[static_cast<std::size_t>(s)].work(); },
            blocks, starts.data());
        EXPECT_EQ(starts.back().sequence, sequences);
        std::vector<std::tuple<int, int, int, int>> dealt;
        for (std::size_t block = 0; block < static_cast<std::size_t>(blocks); ++block) {
          std::int64_t mine = 0;
          for (DecodeStart at = starts[block]; at.before(starts[block + 1]);) {
            const DecodeWork work = batch[static_cast<std::size_t>(at.sequence)].work();
            if (at.number >= work.of_head() * key_heads) {
              at = {at.sequence + 1, 0};
              continue;
            }
            const DecodeItem item = work.at(at.sequence, at.number++);
            dealt.emplace_back(item.sequence, item.key_head, item.piece, item.part);
            const Decoded& sequence = batch[static_cast<std::size_t>(item.sequence)];
            const DecodeKeys keys = DecodeKeys::of(sequence.visible, sequence.queries, sequence.group,
                                                   sequence.part_rows, item.part, item.piece);
            mine += keys.end - keys.begin + DecodeWork::kPieceCost;
          }
          ASSERT_LE(mine, cost / blocks + dearest + 1);
        }
        ASSERT_EQ(dealt, expected);
      }
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
            for (const std::int32_t group : {1, 3, 4, 16, 71}) {
              const Visible visible{key_count, offset, left, -1, causal};
              for (const int part_rows : {8, 16}) {
                for (std::int32_t part = 0; part * part_rows < queries * group; ++part) {
                  for (std::int64_t row = part * part_rows;
                       row < std::min<std::int64_t>((part + 1) * part_rows, queries * group); ++row) {
                    const KeySpan span = visible.keys_of(row / group);
                    std::int64_t covered = 0;
                    for (std::int32_t piece = 0; piece < decode_pieces(key_count); ++piece) {
                      const DecodeKeys keys = DecodeKeys::of(visible, queries, group, part_rows, part, piece);
                      const std::int64_t begin = std::max<std::int64_t>(keys.begin, span.begin),
                                         end = std::min<std::int64_t>(keys.end, span.end);
                      if (begin < end) {
                        ASSERT_LE(keys.first_tile(64) * 64, begin);
                        ASSERT_GE(keys.tile_end(64) * 64, end);
                        covered += end - begin;
                      }
                      if (keys.all_begin < keys.all_end) {
                        ASSERT_LE(span.begin, keys.all_begin);
                        ASSERT_GE(span.end, keys.all_end);
                      }
                    }
                    ASSERT_EQ(covered, span.end - span.begin);
                  }
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

// The first operand of mma m16n8k16, register j of a lane: row lane / 4, and 8 more where j is odd; column
// 2 (lane % 4) + part, and 8 more from register 2 on.
TEST(CudaDecode, MatricesAreTheOperandsOfTheProducts) {
  for (const auto& [keys, d] : {std::pair{64, 128}, {128, 64}, {32, 256}, {32, 192}}) {
    const SwizzledTile tile(keys, d);
    for (int lane = 0; lane < 32; ++lane) {
      for (int j = 0; j < 4; ++j) {
        for (int part = 0; part < 2; ++part) {
          const int row = lane / 4 + j % 2 * 8, column = lane % 4 * 2 + part + j / 2 * 8;
          for (int sixteenth = 0; sixteenth < keys / 16; ++sixteenth) {
            for (int step = 0; step < d / 16; ++step) {
              const auto key_row = [&](int l) {
                return swizzled_bytes(key_matrix_row(l, sixteenth, step), keys);
              };
              const TilePlace key = loaded_half(tile, key_row, lane, j, part, false);
              ASSERT_EQ(key.key, sixteenth * 16 + row);
              ASSERT_EQ(key.column, step * 16 + column);
              const auto value_row = [&](int l) {
                return swizzled_bytes(value_matrix_row(l, sixteenth, step), keys);
              };
              const TilePlace value = loaded_half(tile, value_row, lane, j, part, true);
              ASSERT_EQ(value.column, step * 16 + row);
              ASSERT_EQ(value.key, sixteenth * 16 + column);
            }
          }
        }
      }
    }
  }
}

// Weights are the sums of the first product, turned in 8 x 8 matrices: then they are the second operand of
// the other, element k = 2 (lane % 4) + part, and 8 more in register 1, of column lane / 4.
TEST(CudaDecode, TurnedSumsAreTheOtherOperand) {
  int sums[16][8] = {}, turned[2][8][8] = {};
  for (int lane = 0; lane < 32; ++lane) {
    for (int e = 0; e < 4; ++e) sums[product_row(lane, e)][product_column(lane, e)] = lane * 4 + e;
  }
  for (int lane = 0; lane < 32; ++lane) {
    for (int e = 0; e < 4; ++e)  // what movmatrix takes: row lane / 4, columns 2 (lane % 4) and the next
      turned[e / 2][lane % 4 * 2 + e % 2][lane / 4] = lane * 4 + e;
  }
  for (int lane = 0; lane < 32; ++lane) {
    for (int e = 0; e < 4; ++e)
      ASSERT_EQ(turned[e / 2][lane / 4][lane % 4 * 2 + e % 2],
                sums[lane % 4 * 2 + e % 2 + e / 2 * 8][lane / 4]);
  }
}

}  // namespace
}  // namespace attend
