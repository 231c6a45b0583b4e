#include "cuda/hopper/fragments.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace attend {
namespace {

using namespace cuda;

TEST(CudaFragments, SumsCoverATileOnce) {
  for (const int columns : {64, 96, 128, 256}) {
    std::set<std::pair<int, int>> seen;
    for (int t = 0; t < 128; ++t) {
      for (int x = 0; x < columns / 2; ++x) {
        const int row = sum_row(t, x), column = sum_column(t, x);
        ASSERT_TRUE(row >= 0 && row < 64 && column >= 0 && column < columns);
        seen.insert({row, column});
      }
    }
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(64 * columns));
  }
}

TEST(CudaFragments, AThreadHasTwoRows) {
  for (int t = 0; t < 128; ++t) {
    std::set<int> all;
    for (int r = 0; r < 2; ++r) {
      for (int e = 0; e < 32; ++e) {
        const int x = sum_of_row(r, e);
        all.insert(x);
        EXPECT_EQ(sum_row(t, x), sum_row(t, 0) + 8 * r);
      }
    }
    EXPECT_EQ(all.size(), 64u);  // of 64 sums
    EXPECT_EQ(*all.rbegin(), 63);
  }
}

// The weights that a thread has made are what it must hold for the product with the values.
TEST(CudaFragments, SumsAreTheNextOperand) {
  for (int t = 0; t < 128; ++t) {
    for (int step = 0; step < 8; ++step) {
      for (int r = 0; r < 4; ++r) {
        for (int part = 0; part < 2; ++part) {
          const int x = sum_of_operand(step, r) + part;
          EXPECT_EQ(sum_row(t, x), operand_row(t, r));
          EXPECT_EQ(sum_column(t, x), 16 * step + operand_column(t, r, part));
          EXPECT_EQ(x / 2, 4 * step + r);  // as round_weights() lays them out
        }
      }
    }
  }
}

// The copy engine's and the products' 128-byte swizzle: address bits 4 to 6 are turned by bits 7 to 9.
TEST(CudaFragments, Swizzle) {
  for (int row = 0; row < 128; ++row) {
    for (int piece = 0; piece < 8; ++piece) {
      const int plain = row * 128 + piece * 16;
      EXPECT_EQ(swizzled(row, piece), plain ^ (plain >> 7 & 7) << 4);
    }
  }
}

// stmatrix has matrix m (of four) from register m of each lane, row l / 4 and columns 2 (l % 4) and the next
// one of it from lane l, and puts row r of it where lane 8 m + r says. So each sum comes to be in the row and
// column that it has.
TEST(CudaFragments, StoredMatricesAreTheTile) {
  for (int t = 0; t < 128; ++t) {
    for (int step = 0; step < 4; ++step) {
      for (int matrix = 0; matrix < 4; ++matrix) {
        const int says = t / 32 * 32 + 8 * matrix + t % 32 / 4;
        for (int part = 0; part < 2; ++part) {
          const int x = sum_of_operand(step, matrix) + part;
          const int at = swizzled(stored_row(says), stored_piece(says, step)) + (t % 4 * 2 + part) * 2;
          EXPECT_EQ(at, swizzled(sum_row(t, x), sum_column(t, x) / 8) + sum_column(t, x) % 8 * 2);
        }
      }
    }
  }
}

TEST(CudaFragments, OperandsInHalves) {
  for (const std::uint32_t tile : {0x400u, 0x12400u, 0x37C00u}) {
    for (int step = 0; step < 8; ++step) {
      EXPECT_EQ(Operand::of_rows(tile).row_step(64, step), row_operand(tile, 64, step));
      EXPECT_EQ(Operand::of_columns(tile, 128).column_step(step), column_operand(tile, 128, step));
    }
  }
}

// Fields of a descriptor: address, leading and group strides in units of 16 bytes, 128-byte swizzle.
TEST(CudaFragments, Descriptors) {
  const std::uint64_t rows = row_operand(0x8400, 128, 5);
  EXPECT_EQ(rows & 0x3FFF, (0x8400u + 128 * 128 + 32) >> 4);
  EXPECT_EQ(rows >> 16 & 0x3FFF, 1u);
  EXPECT_EQ(rows >> 32 & 0x3FFF, 1024u >> 4);
  EXPECT_EQ(rows >> 62, 1u);
  const std::uint64_t columns = column_operand(0x10000, 96, 3);
  EXPECT_EQ(columns & 0x3FFF, (0x10000u + 3 * 16 * 128) >> 4);
  EXPECT_EQ(columns >> 16 & 0x3FFF, 96u * 128 >> 4);
  static_assert(descriptor(0x12345670, 16) == (descriptor(0x12345670 & 0x3FFFF, 16)));
}

}  // namespace
}  // namespace attend
