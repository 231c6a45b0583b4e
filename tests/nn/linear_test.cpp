#include "nn/linear.h"

#include <attend/threads.h>
#include <gtest/gtest.h>

#include "support/compare.h"
#include "support/finite_difference.h"
#include "support/random.h"
#include "support/refuses.h"

namespace attend {
namespace {

Tensor linear_of(ConstTensorView x, ConstTensorView w, ConstTensorView bias = {}) {
  Dims shape(x.shape());
  shape[x.rank() - 1] = w.size(1);
  Tensor out(x.dtype(), shape);
  linear(x, w, bias, out);
  return out;
}

TEST(Linear, KnownValues) {
  const Tensor x = Tensor::from<float>({2, 2}, {1, 2, 3, 4});
  const Tensor w = Tensor::from<float>({2, 3}, {1, 0, 2, 0, 1, 1});
  const Tensor bias = Tensor::from<float>({3}, {10, 20, 30});
  EXPECT_TRUE(same_bits(linear_of(x, w), Tensor::from<float>({2, 3}, {1, 2, 4, 3, 4, 10})));
  EXPECT_TRUE(same_bits(linear_of(x, w, bias), Tensor::from<float>({2, 3}, {11, 22, 34, 13, 24, 40})));
}

TEST(Linear, EveryRankAgreesWithFloat64) {
  const Tensor w = random_normal({20, 13}, DType::f32, 1), bias = random_normal({13}, DType::f32, 2);
  const Tensor w64 = copy_of(w, DType::f64), bias64 = copy_of(bias, DType::f64);
  for (const Dims& shape : {Dims{150, 20}, Dims{3, 70, 20}, Dims{2, 3, 5, 20}}) {
    const Tensor x = random_normal(shape, DType::f32, 3);
    const Tensor expected = linear_of(copy_of(x, DType::f64), w64, bias64);
    EXPECT_LT(max_abs_difference(linear_of(x, w, bias), expected), 1e-5);
  }
}

// Weights the other way round, sequences that do not lie one after the other, an output that is turned.
TEST(Linear, AnyStrides) {
  const Tensor x = random_normal({70, 3, 20}, DType::f32, 1), w = random_normal({13, 20}, DType::f32, 2);
  const Tensor biases = random_normal({13, 2}, DType::f32, 3);
  const ConstTensorView turned = x.view().transposed(0, 1), weight = w.view().transposed(0, 1);
  const ConstTensorView bias = biases.view().select(1, 1);
  const Tensor expected = linear_of(copy_of(turned), copy_of(weight), copy_of(bias));
  EXPECT_TRUE(same_bits(linear_of(turned, weight, bias), expected));
  Tensor out(DType::f32, {13, 70, 3});
  linear(turned, weight, bias, out.view().transposed(0, 2));
  EXPECT_TRUE(same_bits(out.view().transposed(0, 2), expected));
}

TEST(Linear, ARowHasTheSameBitsInAnyCompanyAndWithAnyThreads) {
  const Tensor x = random_normal({3, 130, 40}, DType::f32, 1), w = random_normal({40, 24}, DType::f32, 2);
  set_threads(1);
  const Tensor expected = linear_of(x, w);
  for (const int count : {2, 5}) {
    set_threads(count);
    EXPECT_TRUE(same_bits(linear_of(x, w), expected));
    for (std::int64_t row = 0; row < 130; row += 9) {
      const ConstTensorView alone = x.view().slice(0, 1, 3).slice(1, row, row + 1);
      EXPECT_TRUE(same_bits(linear_of(alone, w), expected.view().slice(0, 1, 3).slice(1, row, row + 1)));
    }
  }
  set_threads(0);
}

TEST(Linear, EmptyInputs) {
  EXPECT_EQ(linear_of(Tensor(DType::f32, {0, 4}), Tensor(DType::f32, {4, 3})).count(), 0);
  EXPECT_EQ(linear_of(Tensor(DType::f32, {2, 0, 4}), Tensor(DType::f32, {4, 3})).count(), 0);
  EXPECT_EQ(linear_of(Tensor(DType::f32, {2, 4}), Tensor(DType::f32, {4, 0})).count(), 0);
  const Tensor bias = Tensor::from<float>({2}, {1, 2});  // nothing goes in, the bias comes out
  EXPECT_TRUE(same_bits(linear_of(Tensor(DType::f32, {1, 0}), Tensor(DType::f32, {0, 2}), bias),
                        Tensor::from<float>({1, 2}, {1, 2})));
}

TEST(Linear, Refuses) {
  Tensor x(DType::f32, {5, 4}), w(DType::f32, {4, 3}), out(DType::f32, {5, 3});
  EXPECT_REFUSES(linear(x, Tensor(DType::f32, {3, 4}), {}, out),
                 "[linear] x has shape (5, 4), which does not match w of shape (3, 4)");
  EXPECT_REFUSES(linear(x, w, {}, x), "[linear] out has shape (5, 4), expected (5, 3)");
  EXPECT_REFUSES(linear(x, w, Tensor(DType::f32, {4}), out), "[linear] bias has shape (4,), expected (3,)");
  EXPECT_REFUSES(linear(x, w, Tensor(DType::f64, {3}), out), "[linear] bias is f64, expected f32 as x");
  EXPECT_REFUSES(linear(x, Tensor(DType::f64, {4, 3}), {}, out), "[linear] w is f64, expected f32 as x");
  EXPECT_REFUSES(linear(Tensor(DType::bf16, {5, 4}), w, {}, out), "[linear] x is bf16, expected f32 or f64");
  EXPECT_REFUSES(linear(Tensor(DType::f32, {4}), w, {}, out),
                 "[linear] x has shape (4,), expected 2 to 4 dimensions");
  EXPECT_REFUSES(linear(x, x.view().select(0, 0), {}, out),
                 "[linear] w has shape (4,), expected 2 dimensions");
  EXPECT_REFUSES(linear(x, w, {}, {}), "[linear] out is not given");
  EXPECT_REFUSES(linear(x, Tensor(DType::f32, {4, 4}), {}, x), "[linear] out overlaps x in memory");
}

TEST(LinearBackward, AgreesWithFiniteDifferences) {
  Tensor x = random_normal({2, 3, 4}, DType::f64, 1), w = random_normal({4, 5}, DType::f64, 2);
  Tensor bias = random_normal({5}, DType::f64, 3);
  const Tensor d_out = random_normal({2, 3, 5}, DType::f64, 4);
  const auto loss = [&] { return inner_product(linear_of(x, w, bias), d_out); };
  Tensor d_x(DType::f64, {2, 3, 4}), d_w(DType::f64, {4, 5}), d_bias(DType::f64, {5});
  linear_backward(x, w, d_out, d_x, d_w, d_bias);
  EXPECT_LT(max_abs_difference(d_x, finite_difference(x, loss)), 1e-10);
  EXPECT_LT(max_abs_difference(d_w, finite_difference(w, loss)), 1e-10);
  EXPECT_LT(max_abs_difference(d_bias, finite_difference(bias, loss)), 1e-10);
}

TEST(LinearBackward, WritesOnlyWhatIsWanted) {
  const Tensor x = random_normal({3, 4}, DType::f64, 1), w = random_normal({4, 5}, DType::f64, 2);
  const Tensor d_out = random_normal({3, 5}, DType::f64, 3);
  Tensor d_x(DType::f64, {3, 4}), d_w(DType::f64, {4, 5}), d_bias(DType::f64, {5});
  linear_backward(x, w, d_out, d_x, d_w, d_bias);
  Tensor alone_x(DType::f64, {3, 4}), alone_w(DType::f32, {5, 4}), alone_bias(DType::f64, {5});
  linear_backward({}, w, d_out, alone_x, {}, {});
  linear_backward(x, {}, d_out, {}, alone_w.view().transposed(0, 1), {});
  linear_backward({}, {}, d_out, {}, {}, alone_bias);
  EXPECT_TRUE(same_bits(alone_x, d_x));
  EXPECT_TRUE(same_bits(alone_w.view().transposed(0, 1), copy_of(d_w, DType::f32)));
  EXPECT_TRUE(same_bits(alone_bias, d_bias));
  linear_backward({}, {}, d_out, {}, {}, {});
}

TEST(LinearBackward, EmptyInputsGiveZero) {
  Tensor d_w = random_normal({4, 5}, DType::f64, 1), d_bias = random_normal({5}, DType::f64, 2);
  linear_backward(Tensor(DType::f64, {0, 4}), {}, Tensor(DType::f64, {0, 5}), {}, d_w, d_bias);
  EXPECT_EQ(max_abs_difference(d_w, Tensor(DType::f64, {4, 5})), 0);
  EXPECT_EQ(max_abs_difference(d_bias, Tensor(DType::f64, {5})), 0);
}

TEST(LinearBackward, Refuses) {
  const Tensor x(DType::f64, {3, 4}), w(DType::f64, {4, 5}), d_out(DType::f64, {3, 5});
  Tensor d_x(DType::f64, {3, 4}), d_w(DType::f64, {4, 5});
  EXPECT_REFUSES(linear_backward(x, w, d_out, d_w, {}, {}),
                 "[linear_backward] d_x has shape (4, 5), expected (3, 4)");
  EXPECT_REFUSES(linear_backward(w, w, d_out, {}, d_w, {}),
                 "[linear_backward] x has shape (4, 5), expected (3, 5)");
  EXPECT_REFUSES(linear_backward(x, x, d_out, d_x, {}, {}),
                 "[linear_backward] w has shape (3, 4), expected (3, 5)");
  EXPECT_REFUSES(linear_backward(x, {}, d_out, d_x, {}, {}), "[linear_backward] w is not given");
  EXPECT_REFUSES(linear_backward(x, w, d_out, {}, {}, d_x.view().select(0, 0)),
                 "[linear_backward] d_bias has shape (4,), expected (5,)");
}

}  // namespace
}  // namespace attend
