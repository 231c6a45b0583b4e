#include "kernels/matmul/matmul.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/matmul/matmul_reference.h"
#include "support/compare.h"
#include "support/each_isa.h"
#include "support/finite_difference.h"
#include "support/random.h"

namespace attend::kernels {
namespace {

class MatmulKernel : public EachIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, MatmulKernel, testing::ValuesIn(available_isas()), isa_name);

MatrixStrides strides_of(ConstTensorView matrix) { return {matrix.stride(0), matrix.stride(1)}; }

// (panels, k, 16) of a row-major b (k, n), with 0 beyond n.
Tensor packed(const Tensor& b) {
  const std::int64_t k = b.size(0), n = b.size(1);
  Tensor panels(DType::f32, {panel_count(n), k, kPanelColumns});
  for (std::int64_t p = 0; p < k; ++p) {
    for (std::int64_t j = 0; j < n; ++j) {
      const std::int64_t place = (j / kPanelColumns * k + p) * kPanelColumns + j % kPanelColumns;
      panels.view().data<float>()[place] = b.view().data<float>()[p * n + j];
    }
  }
  return panels;
}

// Rows [first, last) of a times b, as one call for each kMatmulRows of them, into rows that are 3 wider than
// they need to be: what lies there must stay.
Tensor product(const Tensor& a, const Tensor& b, std::int64_t first, std::int64_t last) {
  constexpr float kUntouched = 12345;
  const std::int64_t k = a.size(1), n = b.size(1);
  const Tensor panels = packed(b);
  Tensor c(DType::f32, {last - first, n + 3});
  for (float& value : c.values<float>()) value = kUntouched;
  for (std::int64_t row = first; row < last; row += kMatmulRows) {
    MatmulBlock block;
    block.rows = std::min(kMatmulRows, last - row);
    block.columns = n;
    block.depth = k;
    block.a = a.view().data<float>() + row * k;
    block.a_row = k;
    block.panels = panels.view().data<float>();
    block.finish.out = c.view().data<float>() + (row - first) * (n + 3);
    block.finish.out_row = n + 3;
    matmul(block);
  }
  const Tensor margin = copy_of(c.view().slice(1, n, n + 3));
  for (const float value : margin.values<float>()) EXPECT_EQ(value, kUntouched);
  return copy_of(c.view().slice(1, 0, n));
}

Tensor product(const Tensor& a, const Tensor& b) { return product(a, b, 0, a.size(0)); }

Tensor reference_product(ConstTensorView a_given, ConstTensorView b_given) {
  const Tensor a = copy_of(a_given, DType::f64), b = copy_of(b_given, DType::f64);
  Tensor c(DType::f64, {a.size(0), b.size(1)});
  matmul_reference(a.size(0), b.size(1), a.size(1), a.values<double>().data(), strides_of(a.view()),
                   b.values<double>().data(), strides_of(b.view()), nullptr, c.values<double>().data(),
                   strides_of(c.view()));
  return c;
}

// Every number of rows of a tile, every number of vectors of a group, and both sides of a panel.
TEST_P(MatmulKernel, AgreesWithTheReferenceAtEverySize) {
  for (const std::int64_t m : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 65}) {
    for (const std::int64_t n : {0, 1, 4, 7, 8, 15, 16, 17, 31, 33, 47, 48, 49, 70}) {
      for (const std::int64_t k : {0, 1, 2, 33}) {
        const Tensor a = random_normal({m, k}, DType::f32, 1), b = random_normal({k, n}, DType::f32, 2);
        ASSERT_LT(max_abs_difference(product(a, b), reference_product(a, b)), 1e-5)
            << m << ' ' << n << ' ' << k;
      }
    }
  }
}

// Both sides of the parts of the depth, and several of them. Entries of 1 / sqrt(k) make sums near 1.
TEST_P(MatmulKernel, AgreesWithTheReferenceWhenDeep) {
  for (const std::int64_t k : {127, 384, 511, 512, 513, 1025, 1536, 4096}) {
    const Tensor a = random_normal({9, k}, DType::f32, 1);
    const Tensor b = random_normal({k, 50}, DType::f32, 2, 1 / std::sqrt(static_cast<double>(k)));
    ASSERT_LT(max_abs_difference(product(a, b), reference_product(a, b)), 3e-6) << k;
  }
  // All of one sign, where a running sum drifts most: 4096 terms of about 1/4.
  const Tensor p = random_uniform({5, 4096}, DType::f32, 3), q = random_uniform({4096, 40}, DType::f32, 4);
  EXPECT_LT(max_abs_difference(product(p, q), reference_product(p, q)) / 1024, 1e-6);
}

TEST_P(MatmulKernel, ARowDoesNotDependOnItsNeighbours) {
  const Tensor a = random_normal({19, 600}, DType::f32, 1), b = random_normal({600, 37}, DType::f32, 2);
  const Tensor whole = product(a, b);
  for (std::int64_t first = 0; first < 19; ++first) {
    for (std::int64_t last = first + 1; last <= 19; ++last) {
      ASSERT_TRUE(same_bits(product(a, b, first, last), whole.view().slice(0, first, last)))
          << first << ' ' << last;
    }
  }
}

TEST_P(MatmulKernel, AColumnDoesNotDependOnItsNeighbours) {
  const Tensor a = random_normal({9, 600}, DType::f32, 1), b = random_normal({600, 100}, DType::f32, 2);
  const Tensor whole = product(a, b);
  for (const std::int64_t first : {0, 1, 16, 40}) {
    for (const std::int64_t last : {41, 48, 64, 97, 100}) {
      ASSERT_TRUE(
          same_bits(product(a, copy_of(b.view().slice(1, first, last))), whole.view().slice(1, first, last)))
          << first << ' ' << last;
    }
  }
}

// NaN or infinity in one row, or in one column, stays there: neither the padding of a panel nor a neighbour
// carries it on.
TEST_P(MatmulKernel, NaNStaysInItsRowAndColumn) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity}) {
    Tensor a = random_normal({11, 10}, DType::f32, 1), b = random_normal({10, 19}, DType::f32, 2);
    a.values<float>()[4 * 10 + 3] = bad;
    b.values<float>()[2 * 19 + 7] = bad;
    const Tensor c = product(a, b);
    for (std::size_t i = 0; i < 11; ++i) {
      for (std::size_t j = 0; j < 19; ++j) {
        ASSERT_EQ(std::isfinite(c.values<float>()[i * 19 + j]), i != 4 && j != 7) << i << ' ' << j;
      }
    }
  }
}

// d_a = d_c b^T and d_b = a^T d_c.
TEST(MatmulReference, TransposedStridesGiveTheGradients) {
  constexpr std::int64_t kM = 3, kN = 4, kK = 5;
  Tensor a = random_normal({kM, kK}, DType::f64, 1), b = random_normal({kK, kN}, DType::f64, 2);
  const Tensor d_c = random_normal({kM, kN}, DType::f64, 3);
  const auto loss = [&] { return inner_product(reference_product(a, b), d_c); };
  const Tensor d_a = reference_product(d_c, copy_of(b.view().transposed(0, 1)));
  const Tensor d_b = reference_product(copy_of(a.view().transposed(0, 1)), d_c);
  EXPECT_LT(max_abs_difference(d_a, finite_difference(a, loss)), 1e-10);
  EXPECT_LT(max_abs_difference(d_b, finite_difference(b, loss)), 1e-10);
}

}  // namespace
}  // namespace attend::kernels
