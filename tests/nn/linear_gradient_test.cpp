#include "nn/linear_gradient.h"

#include <attend/threads.h>

#include "nn/linear.h"
#include "support/compare.h"
#include "support/each_isa.h"
#include "support/finite_difference.h"
#include "support/random.h"
#include "support/refuses.h"

namespace attend {
namespace {

struct LinearGradients {
  Tensor w, bias;
};

// Added to something, which is not lost.
LinearGradients added(ConstTensorView x, ConstTensorView d_out) {
  const std::int64_t in = x.size(1), out = d_out.size(1);
  LinearGradients result{random_normal({in, out}, x.dtype(), 7), random_normal({out}, x.dtype(), 8)};
  Tensor room(DType::f32, {linear_gradient_room(in, out)});
  add_linear_gradient(x, d_out, result.w, result.bias, room);
  return result;
}

TEST(LinearGradient, Float64AgreesWithFiniteDifferences) {
  const Tensor x = random_normal({6, 4}, DType::f64, 1), d_out = random_normal({6, 5}, DType::f64, 2);
  Tensor w = random_normal({4, 5}, DType::f64, 3), bias = random_normal({5}, DType::f64, 4);
  const Tensor before_w = random_normal({4, 5}, DType::f64, 7),
               before_bias = random_normal({5}, DType::f64, 8);
  const auto loss = [&] {
    Tensor out(DType::f64, {6, 5});
    linear(x, w, bias, out);
    return inner_product(out, d_out) + inner_product(w, before_w) + inner_product(bias, before_bias);
  };
  const LinearGradients found = added(x, d_out);
  EXPECT_LT(max_abs_difference(found.w, finite_difference(w, loss)), 1e-9);
  EXPECT_LT(max_abs_difference(found.bias, finite_difference(bias, loss)), 1e-9);
}

class LinearGradientOnEachIsa : public EachIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, LinearGradientOnEachIsa, testing::ValuesIn(available_isas()), isa_name);

// More rows than are multiplied together, and sizes that fill no tile.
TEST_P(LinearGradientOnEachIsa, AgreesWithFloat64) {
  for (const std::int64_t rows : {1, 17, 1500}) {
    const Tensor x = random_normal({rows, 19}, DType::f32, 1),
                 d_out = random_normal({rows, 35}, DType::f32, 2);
    const LinearGradients found = added(x, d_out);
    const LinearGradients expected = added(copy_of(x, DType::f64), copy_of(d_out, DType::f64));
    EXPECT_LT(max_abs_difference(found.w, expected.w), 1e-4) << rows;  // sums of 1500 numbers near 1
    EXPECT_LT(max_abs_difference(found.bias, expected.bias), 1e-4) << rows;
  }
}

TEST(LinearGradient, SameBitsWithAnyThreadsAndStrides) {
  const Tensor x = random_normal({1500, 40}, DType::f32, 1), d_out = random_normal({1500, 70}, DType::f32, 2);
  set_threads(1);
  const LinearGradients expected = added(x, d_out);
  const Tensor turned = copy_of(x.view().transposed(0, 1)), wide = copy_of(d_out.view().transposed(0, 1));
  for (const int count : {1, 2, 3, 8}) {
    set_threads(count);
    const LinearGradients found = added(turned.view().transposed(0, 1), wide.view().transposed(0, 1));
    EXPECT_TRUE(same_bits(found.w, expected.w));
    EXPECT_TRUE(same_bits(found.bias, expected.bias));
  }
  set_threads(0);
}

TEST(LinearGradient, EmptyInputsAndRefusals) {
  const LinearGradients none = added(Tensor(DType::f32, {0, 3}), Tensor(DType::f32, {0, 2}));
  EXPECT_TRUE(same_bits(none.w, random_normal({3, 2}, DType::f32, 7)));
  added(Tensor(DType::f32, {4, 0}), Tensor(DType::f32, {4, 2}));
  added(Tensor(DType::f32, {4, 3}), Tensor(DType::f32, {4, 0}));
  const Tensor x(DType::f32, {4, 3}), d_out(DType::f32, {4, 2});
  Tensor d_w(DType::f32, {3, 2}), small(DType::f32, {16});
  EXPECT_REFUSES(add_linear_gradient(x, d_out, d_w, {}, small), "room has 16 elements, expected");
  EXPECT_REFUSES(add_linear_gradient(d_out, x, d_w, {}, small), "d_w has shape (3, 2), expected (2, 3)");
  EXPECT_REFUSES(add_linear_gradient(x, d_w, d_w, {}, small), "d_out has shape (3, 2), expected (4, 2)");
}

// Written, not added; rows of any spacing; against the plain loops in float64.
TEST(LinearGradient, AllThreeOfThem) {
  const Tensor storage = random_normal({3, 7, 2, 20}, DType::f32, 1);
  const Tensor w = random_normal({20, 9}, DType::f32, 2);
  for (const bool even : {true, false}) {
    const Tensor dense = copy_of(storage.view().select(2, 1));
    const ConstTensorView x = even ? ConstTensorView(dense) : storage.view().select(2, 1);  // (3, 7, 20)
    const Tensor d_storage = random_normal({7, 3, 9}, DType::f32, 3);
    const ConstTensorView d_out = d_storage.view().transposed(0, 1);
    Tensor d_x = random_normal({3, 7, 20}, DType::f32, 4), d_w = random_normal({20, 9}, DType::f32, 5),
           d_bias = random_normal({9}, DType::f32, 6);
    linear_gradients(x, w, d_out, d_x, d_w, d_bias);
    Tensor x_expected(DType::f64, d_x.shape()), w_expected(DType::f64, d_w.shape()),
        bias_expected(DType::f64, d_bias.shape());
    linear_backward(x, w, d_out, x_expected, w_expected, bias_expected);
    EXPECT_LT(max_abs_difference(d_x, x_expected), 1e-5);
    EXPECT_LT(max_abs_difference(d_w, w_expected), 1e-5);
    EXPECT_LT(max_abs_difference(d_bias, bias_expected), 1e-5);
  }
  // An axis of size 1 has a stride that means nothing.
  const ConstTensorView one(storage.view().raw(), DType::f32, {3, 1, 7, 20}, {280, 280, 40, 1});
  const Tensor d_out = random_normal({3, 1, 7, 9}, DType::f32, 3);
  Tensor d_w(DType::f32, w.shape()), w_expected(DType::f64, w.shape());
  linear_gradients(one, w, d_out, {}, d_w, {});
  linear_backward(one, w, d_out, {}, w_expected, {});
  EXPECT_LT(max_abs_difference(d_w, w_expected), 1e-5);
}

TEST(LinearGradient, AllThreeRefuseWhatMakesNoSense) {
  Tensor x = random_normal({3, 4}, DType::f32, 1), w = random_normal({4, 5}, DType::f32, 2);
  const Tensor d_out = random_normal({3, 5}, DType::f32, 3), wide(DType::f64, {3, 5});
  EXPECT_REFUSES(linear_gradients(x, x, d_out, {}, {}, {}),
                 "[linear_backward] w has shape (3, 4), expected (4, 4)");
  EXPECT_REFUSES(linear_gradients(x, w, x, {}, {}, {}),
                 "[linear_backward] d_out has shape (3, 4), expected (3, 5)");
  EXPECT_REFUSES(linear_gradients(x, w, wide, {}, {}, {}),
                 "[linear_backward] d_out is f64, expected f32 as x");
  EXPECT_REFUSES(linear_gradients(x, w, d_out, x, {}, {}), "[linear_backward] d_x overlaps x in memory");
}

}  // namespace
}  // namespace attend
