#include "nn/row_products.h"

#include <attend/threads.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "support/each_isa.h"

namespace attend {
namespace {

class RowProductsOnEachIsa : public EachIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, RowProductsOnEachIsa, testing::ValuesIn(available_isas()), isa_name);

Tensor random_rows(std::int64_t rows, std::int64_t columns, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Tensor out(DType::f32, {rows, columns});
  for (float& value : out.values<float>()) value = normal(random);
  return out;
}

std::size_t at(std::int64_t row, std::int64_t column, std::int64_t columns) {
  return static_cast<std::size_t>(row * columns + column);
}

// Every depth up to three vectors and a bit, and those of models; every type of table; tables that are
// slices.
TEST_P(RowProductsOnEachIsa, AgreeWithFloat64) {
  for (std::int64_t depth = 0; depth < 1030; depth += depth < 70 ? 1 : 137) {
    const Tensor x = random_rows(2, depth, 1);
    for (const DType type : {DType::f32, DType::bf16, DType::f16}) {
      const Tensor wide = copy_of(random_rows(530, depth + 3, 2), type);
      const ConstTensorView table = wide.view().slice(1, 2, depth + 2);
      Tensor out(DType::f32, {2, 530});
      detail::row_products(x, table, out);
      const Tensor words = copy_of(table, DType::f64), rows = copy_of(x, DType::f64);
      for (const std::int64_t i : {0, 1}) {
        for (std::int64_t j = 0; j < 530; j += 13) {
          double sum = 0, size = 0;
          for (std::int64_t k = 0; k < depth; ++k) {
            const double product =
                rows.values<double>()[at(i, k, depth)] * words.values<double>()[at(j, k, depth)];
            sum += product;
            size += std::abs(product);
          }
          ASSERT_NEAR(out.values<float>()[at(i, j, 530)], sum, 3e-7 * size + 1e-30)
              << depth << " of " << name_of(type);
        }
      }
    }
  }
}

TEST_P(RowProductsOnEachIsa, AreTheSameOnAnyNumberOfThreadsAndInAnyBatch) {
  const Tensor x = random_rows(3, 576, 3), table = random_rows(2000, 576, 4);
  Tensor together(DType::f32, {3, 2000});
  const int before = threads();
  set_threads(1);
  detail::row_products(x, table, together);
  set_threads(4);
  for (std::int64_t i = 0; i < 3; ++i) {
    Tensor alone(DType::f32, {1, 2000});
    detail::row_products(x.view().slice(0, i, i + 1), table, alone);
    EXPECT_TRUE(std::ranges::equal(copy_of(together.view().slice(0, i, i + 1)).values<float>(),
                                   alone.values<float>()));
  }
  set_threads(before);
}

}  // namespace
}  // namespace attend
