// How products are cut: every element is in one block, and blocks are neither too large nor too small.
#include <gtest/gtest.h>

#include <string>

#include "kernels/matmul/matmul.h"
#include "nn/packed_product.h"

namespace attend::detail {
namespace {

constexpr ProductGrain kGrains[] = {kVectorGrain, kTileGrain};

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
