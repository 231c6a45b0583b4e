#include "kernels/matmul/matmul.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/matmul/matmul_reference.h"
#include "support/compare.h"
#include "support/finite_difference.h"
#include "support/random.h"

namespace attend::kernels {
namespace {

MatrixStrides strides_of(ConstTensorView matrix) { return {matrix.stride(0), matrix.stride(1)}; }

Tensor product(ConstTensorView a, ConstTensorView b, const Tensor* bias = nullptr) {
  Tensor c(DType::f32, {a.size(0), b.size(1)});
  matmul(a.size(0), b.size(1), a.size(1), a.data<float>(), strides_of(a), b.data<float>(), strides_of(b),
         bias != nullptr ? bias->values<float>().data() : nullptr, c.values<float>().data(),
         strides_of(c.view()));
  return c;
}

Tensor reference_product(ConstTensorView a_given, ConstTensorView b_given,
                         const Tensor* bias_given = nullptr) {
  const Tensor a = copy_of(a_given, DType::f64), b = copy_of(b_given, DType::f64);
  Tensor bias(DType::f64, {b.size(1)}), c(DType::f64, {a.size(0), b.size(1)});
  if (bias_given != nullptr) copy(*bias_given, bias);
  matmul_reference(a.size(0), b.size(1), a.size(1), a.values<double>().data(), strides_of(a.view()),
                   b.values<double>().data(), strides_of(b.view()), bias.values<double>().data(),
                   c.values<double>().data(), strides_of(c.view()));
  return c;
}

// Sizes on both sides of every block: 4 rows, 8 and 32 columns, 128 deep.
TEST(Matmul, AgreesWithTheReferenceAtEverySize) {
  for (const std::int64_t m : {0, 1, 3, 4, 5, 9}) {
    for (const std::int64_t n : {0, 1, 7, 8, 31, 32, 33, 70}) {
      for (const std::int64_t k : {0, 1, 2, 127, 128, 129, 300}) {
        const Tensor a = random_normal({m, k}, DType::f32, 1), b = random_normal({k, n}, DType::f32, 2);
        const Tensor bias = random_normal({n}, DType::f32, 3);
        ASSERT_LT(max_abs_difference(product(a, b, &bias), reference_product(a, b, &bias)), 2e-5)
            << m << ' ' << n << ' ' << k;
        ASSERT_LT(max_abs_difference(product(a, b), reference_product(a, b)), 2e-5);
      }
    }
  }
}

// The sums reach 200, where one ulp is 1.5e-5.
TEST(Matmul, StaysAccurateWhenDeep) {
  const Tensor a = random_normal({5, 4096}, DType::f32, 1), b = random_normal({4096, 40}, DType::f32, 2);
  EXPECT_LT(max_abs_difference(product(a, b), reference_product(a, b)), 8e-5);
  // All of one sign, where a running sum drifts most: 4096 terms of about 1/4.
  const Tensor p = random_uniform({5, 4096}, DType::f32, 3), q = random_uniform({4096, 40}, DType::f32, 4);
  EXPECT_LT(max_abs_difference(product(p, q), reference_product(p, q)) / 1024, 1e-6);
}

TEST(Matmul, AnyStrides) {
  const Tensor a = random_normal({130, 6}, DType::f32, 1), b = random_normal({20, 130}, DType::f32, 2);
  const ConstTensorView at = a.view().transposed(0, 1), bt = b.view().transposed(0, 1);
  const Tensor c = product(at, bt);
  EXPECT_TRUE(same_bits(c, product(copy_of(at), copy_of(bt))));
  Tensor ct(DType::f32, {20, 6});
  matmul(6, 20, 130, at.data<float>(), strides_of(at), bt.data<float>(), strides_of(bt), nullptr,
         ct.values<float>().data(), strides_of(ct.view()).transposed());
  EXPECT_TRUE(same_bits(c, ct.view().transposed(0, 1)));
  const float backwards[] = {1, 2, 3};
  const ConstTensorView reversed(&backwards[2], {1, 3}, {0, -1});
  const Tensor ten = Tensor::from<float>({3, 1}, {100, 10, 1});
  EXPECT_EQ(product(reversed, ten).values<float>()[0], 321.0f);
}

TEST(Matmul, ARowDoesNotDependOnItsNeighbours) {
  const Tensor a = random_normal({11, 200}, DType::f32, 1), b = random_normal({200, 37}, DType::f32, 2);
  const Tensor whole = product(a, b);
  for (std::int64_t first = 0; first < 11; ++first) {
    for (std::int64_t last = first + 1; last <= 11; ++last) {
      const Tensor part = product(a.view().slice(0, first, last), b);
      ASSERT_TRUE(same_bits(part, whole.view().slice(0, first, last))) << first << ' ' << last;
    }
  }
}

// NaN in one row, or in one column, stays there.
TEST(Matmul, NaNStaysInItsRowAndColumn) {
  Tensor a = random_normal({5, 10}, DType::f32, 1), b = random_normal({10, 9}, DType::f32, 2);
  a.values<float>()[4 * 10 + 3] = std::numeric_limits<float>::quiet_NaN();
  b.values<float>()[2 * 9 + 7] = std::numeric_limits<float>::infinity();
  const Tensor c = product(a, b);
  for (std::size_t i = 0; i < 5; ++i) {
    for (std::size_t j = 0; j < 9; ++j) {
      EXPECT_EQ(std::isfinite(c.values<float>()[i * 9 + j]), i != 4 && j != 7) << i << ' ' << j;
    }
  }
}

// d_a = d_c b^T and d_b = a^T d_c.
TEST(MatmulReference, TransposedStridesGiveTheGradients) {
  constexpr std::int64_t kM = 3, kN = 4, kK = 5;
  Tensor a = random_normal({kM, kK}, DType::f64, 1), b = random_normal({kK, kN}, DType::f64, 2);
  const Tensor d_c = random_normal({kM, kN}, DType::f64, 3);
  const auto loss = [&] { return inner_product(reference_product(a, b), d_c); };
  const Tensor d_a = reference_product(d_c, b.view().transposed(0, 1));
  const Tensor d_b = reference_product(a.view().transposed(0, 1), d_c);
  EXPECT_LT(max_abs_difference(d_a, finite_difference(a, loss)), 1e-10);
  EXPECT_LT(max_abs_difference(d_b, finite_difference(b, loss)), 1e-10);
}

}  // namespace
}  // namespace attend::kernels
