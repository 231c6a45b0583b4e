#include <attend/reference.h>
#include <attend/softmax.h>
#include <attend/threads.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "support/compare.h"
#include "support/finite_difference.h"
#include "support/random.h"
#include "support/refuses.h"

namespace attend {
namespace {

Tensor softmax_of(ConstTensorView x) {
  Tensor out(x.dtype(), x.shape());
  softmax(x, out);
  return out;
}

TEST(Softmax, KnownValues) {
  const Tensor out = softmax_of(Tensor::from<float>({2, 3}, {1, 2, 3, -1, -1, -1}));
  const Tensor expected = Tensor::from<double>(
      {2, 3}, {0.0900305731703805, 0.2447284710547977, 0.6652409557748219, 1 / 3.0, 1 / 3.0, 1 / 3.0});
  EXPECT_LT(max_abs_difference(out, expected), 1e-7);
}

TEST(Softmax, EveryTypeAndRankAgreesWithFloat64) {
  for (const Dims& shape : {Dims{7}, Dims{5, 7}, Dims{2, 5, 7}, Dims{2, 3, 5, 7}}) {
    for (const auto& [dtype, tolerance] :
         {std::pair{DType::f32, 2e-7}, {DType::bf16, 0.002}, {DType::f16, 0.0003}}) {
      const Tensor x = random_normal(shape, dtype, 3);
      EXPECT_LT(max_abs_difference(softmax_of(x), softmax_of(copy_of(x, DType::f64))), tolerance);
    }
  }
}

TEST(Softmax, AnyStrides) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
    const Tensor x = random_normal({6, 4, 9}, dtype, 4);
    const ConstTensorView turned = x.view().transposed(0, 2);
    Tensor out(dtype, {6, 4, 9});
    softmax(turned, out.view().transposed(0, 2));
    EXPECT_TRUE(same_bits(out.view().transposed(0, 2), softmax_of(copy_of(turned))));
  }
}

TEST(Softmax, InPlace) {
  Tensor x = random_normal({3, 40}, DType::f32, 5);
  const Tensor expected = softmax_of(x);
  softmax(x, x);
  EXPECT_TRUE(same_bits(x, expected));
  Tensor y = random_normal({40, 3}, DType::f32, 6);
  const Tensor turned = softmax_of(y.view().transposed(0, 1));
  softmax(y.view().transposed(0, 1), y.view().transposed(0, 1));
  EXPECT_TRUE(same_bits(y.view().transposed(0, 1), turned));
}

TEST(Softmax, EdgesOfTheRange) {
  constexpr float kInfinity = HUGE_VALF;
  const Tensor x = Tensor::from<float>({4, 2}, {1e38f, 1e38f, -3e38f, 3e38f, -kInfinity, -kInfinity, NAN, 0});
  const Tensor expected = Tensor::from<float>({4, 2}, {0.5f, 0.5f, 0, 1, 0, 0, NAN, NAN});
  EXPECT_LT(max_abs_difference(softmax_of(x), expected), 1e-9);
}

TEST(Softmax, SameBitsWithAnyNumberOfThreads) {
  const Tensor x = random_normal({500, 33}, DType::f32, 7);
  set_threads(1);
  const Tensor expected = softmax_of(x);
  for (const int count : {2, 5}) {
    set_threads(count);
    EXPECT_TRUE(same_bits(softmax_of(x), expected));
    const Tensor alone = softmax_of(x.view().slice(0, 123, 124));
    EXPECT_TRUE(same_bits(alone, expected.view().slice(0, 123, 124)));
  }
  set_threads(0);
}

TEST(Softmax, EmptyInputs) {
  EXPECT_EQ(softmax_of(Tensor(DType::f32, {0, 5})).count(), 0);
  EXPECT_EQ(softmax_of(Tensor(DType::bf16, {5, 0})).count(), 0);
  Tensor nothing(DType::f64, {3, 0});
  reference::softmax_backward(nothing, nothing, nothing);
}

TEST(Softmax, Refuses) {
  Tensor x(DType::f32, {2, 3}), wide(DType::f32, {2, 4}), doubles(DType::f64, {2, 3});
  Tensor flags(DType::boolean, {2, 3});
  EXPECT_REFUSES(softmax(x, wide), "[softmax] out has shape (2, 4), expected (2, 3)");
  EXPECT_REFUSES(softmax(x, doubles), "[softmax] out is f64, expected f32 as x");
  EXPECT_REFUSES(softmax(flags, flags), "[softmax] x is boolean, expected a floating type");
  EXPECT_REFUSES(softmax({}, x), "[softmax] x is not given");
  EXPECT_REFUSES(softmax(x, {}), "[softmax] out is not given");
  EXPECT_REFUSES(softmax(Tensor(DType::f32, {}), x), "[softmax] x has shape (), expected 1 to 4 dimensions");
  EXPECT_REFUSES(softmax(wide.view().slice(1, 0, 3), wide.view().slice(1, 1, 4)),
                 "[softmax] out overlaps x in memory");
  const TensorView broadcast(x.values<float>().data(), {2, 3}, {0, 1});
  EXPECT_REFUSES(softmax(wide.view().slice(1, 0, 3), broadcast), "[softmax] out has strides ");
}

TEST(SoftmaxBackward, AgreesWithFiniteDifferences) {
  Tensor x = random_normal({2, 3, 5}, DType::f64, 1);
  const Tensor d_weights = random_normal({2, 3, 5}, DType::f64, 2);
  const Tensor expected = finite_difference(x, [&] { return inner_product(softmax_of(x), d_weights); });
  Tensor d_x(DType::f64, {2, 3, 5});
  reference::softmax_backward(softmax_of(x), d_weights, d_x);
  EXPECT_LT(max_abs_difference(d_x, expected), 1e-10);
  // Strided, and into the gradient that came in.
  Tensor turned = copy_of(d_weights.view().transposed(0, 2));
  reference::softmax_backward(softmax_of(x), turned.view().transposed(0, 2), turned.view().transposed(0, 2));
  EXPECT_TRUE(same_bits(turned.view().transposed(0, 2), d_x));
  EXPECT_REFUSES(reference::softmax_backward(x, Tensor(DType::f64, {2, 3}), d_x),
                 "[softmax_backward] d_weights has shape (2, 3), expected (2, 3, 5)");
}

}  // namespace
}  // namespace attend
