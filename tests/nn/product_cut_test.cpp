// How products are cut: every element is in one block, and blocks are neither too large nor too small.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kernels/matmul/matmul.h"
#include "nn/packed_product.h"

namespace attend::detail {
namespace {

constexpr ProductGrain kGrains[] = {kFloatGrain, kVectorGrain, kTileGrain};

TEST(ProductCuts, BlocksCoverTheProductOnce) {
  for (const ProductGrain& grain : kGrains) {
    for (const std::int64_t m : {1, 7, 8, 9, 31, 33, 128, 129, 200, 512, 2100}) {
      for (const std::int64_t n : {1, 15, 48, 49, 384, 1000, 3072}) {
        for (const std::int64_t k : {0, 1, 64, 384, 3072}) {
          const ProductCut cut(m, n, k, grain);
          const std::string what = std::to_string(m) + ' ' + std::to_string(n) + ' ' + std::to_string(k);
          EXPECT_GE(cut.rows * cut.row_blocks, m) << what;
          EXPECT_LT(cut.rows * (cut.row_blocks - 1), m) << what;
          EXPECT_GE(cut.columns * cut.column_blocks, n) << what;
          EXPECT_LT(cut.columns * (cut.column_blocks - 1), n) << what;
          EXPECT_LE(cut.rows, kernels::kMatmulRows) << what;
          EXPECT_EQ(cut.rows % grain.rows, 0) << what;
          EXPECT_EQ(cut.columns % grain.columns, 0) << what;
        }
      }
    }
  }
}

// Every row and column of the product is in one piece, and shares are alike to a tile or two of rows.
TEST(ProductCuts, SharesAreTheWholeProductAndAlike) {
  for (const ProductGrain& grain : kGrains) {
    for (const std::int64_t m : {1, 9, 128, 200, 512, 2100}) {
      for (const std::int64_t n : {1, 49, 384, 1000, 3072}) {
        for (const int lanes : {1, 2, 14, 16}) {
          const ProductCut cut(m, n, 384, grain);
          const ProductShares shares(cut, lanes);
          const std::string what = std::to_string(m) + ' ' + std::to_string(n) + ' ' + std::to_string(lanes);
          ASSERT_EQ(shares.begins().size(), static_cast<std::size_t>(lanes) + 1) << what;
          ASSERT_TRUE(std::ranges::is_sorted(shares.begins())) << what;
          std::vector<std::int64_t> next(static_cast<std::size_t>(cut.count()));  // the row that must follow
          std::vector<std::int64_t> area;
          for (int lane = 0; lane < lanes; ++lane) {
            area.push_back(0);
            const auto begin = shares.begins().subspan(static_cast<std::size_t>(lane));
            for (std::int64_t i = begin[0]; i < begin[1]; ++i) {
              const ProductShares::Piece& piece = shares[i];
              std::int64_t& row = next[static_cast<std::size_t>(piece.block)];
              ASSERT_EQ(piece.first_row, row) << what;
              ASSERT_GT(piece.rows, 0) << what;
              row += piece.rows;
              area.back() += piece.rows * cut.columns_of(piece.block);
            }
          }
          for (std::int64_t block = 0; block < cut.count(); ++block)
            EXPECT_EQ(next[static_cast<std::size_t>(block)], cut.rows_of(block)) << what;
          if (grain.square || m < 128 || n < 384) continue;                     // whole blocks
          const std::int64_t rows = cut.rows < 64 ? cut.rows : 2 * grain.rows;  // low blocks are not cut
          EXPECT_LE(*std::ranges::max_element(area), m * n / lanes + rows * cut.columns) << what;
        }
      }
    }
  }
}

// Enough for 16 threads where there is enough to do, and one where a second thread would come too late.
TEST(ProductCuts, BlocksAreAsManyAsPay) {
  for (const ProductGrain& grain : kGrains) {
    EXPECT_EQ(ProductCut(1, 16, 64, grain).count(), 1);
    EXPECT_EQ(ProductCut(16, 48, 64, grain).count(), 1);
    for (const std::int64_t n : {384, 1536}) EXPECT_GE(ProductCut(512, n, 1536, grain).count(), 48) << n;
    EXPECT_GE(ProductCut(1, 1536, 384, grain).count(), 8);
  }
}

}  // namespace
}  // namespace attend::detail
