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

struct Gradients {
  Tensor w, bias;
};

// Added to something, which is not lost.
Gradients added(ConstTensorView x, ConstTensorView d_out) {
  const std::int64_t in = x.size(1), out = d_out.size(1);
  Gradients result{random_normal({in, out}, x.dtype(), 7), random_normal({out}, x.dtype(), 8)};
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
  const Gradients found = added(x, d_out);
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
    const Gradients found = added(x, d_out);
    const Gradients expected = added(copy_of(x, DType::f64), copy_of(d_out, DType::f64));
    EXPECT_LT(max_abs_difference(found.w, expected.w), 1e-4) << rows;  // sums of 1500 numbers near 1
    EXPECT_LT(max_abs_difference(found.bias, expected.bias), 1e-4) << rows;
  }
}

TEST(LinearGradient, SameBitsWithAnyThreadsAndStrides) {
  const Tensor x = random_normal({1500, 40}, DType::f32, 1), d_out = random_normal({1500, 70}, DType::f32, 2);
  set_threads(1);
  const Gradients expected = added(x, d_out);
  const Tensor turned = copy_of(x.view().transposed(0, 1)), wide = copy_of(d_out.view().transposed(0, 1));
  for (const int count : {1, 2, 3, 8}) {
    set_threads(count);
    const Gradients found = added(turned.view().transposed(0, 1), wide.view().transposed(0, 1));
    EXPECT_TRUE(same_bits(found.w, expected.w));
    EXPECT_TRUE(same_bits(found.bias, expected.bias));
  }
  set_threads(0);
}

TEST(LinearGradient, EmptyInputsAndRefusals) {
  const Gradients none = added(Tensor(DType::f32, {0, 3}), Tensor(DType::f32, {0, 2}));
  EXPECT_TRUE(same_bits(none.w, random_normal({3, 2}, DType::f32, 7)));
  added(Tensor(DType::f32, {4, 0}), Tensor(DType::f32, {4, 2}));
  added(Tensor(DType::f32, {4, 3}), Tensor(DType::f32, {4, 0}));
  const Tensor x(DType::f32, {4, 3}), d_out(DType::f32, {4, 2});
  Tensor d_w(DType::f32, {3, 2}), small(DType::f32, {16});
  EXPECT_REFUSES(add_linear_gradient(x, d_out, d_w, {}, small), "room has 16 elements, expected");
  EXPECT_REFUSES(add_linear_gradient(d_out, x, d_w, {}, small), "d_w has shape (3, 2), expected (2, 3)");
  EXPECT_REFUSES(add_linear_gradient(x, d_w, d_w, {}, small), "d_out has shape (3, 2), expected (4, 2)");
}

}  // namespace
}  // namespace attend
