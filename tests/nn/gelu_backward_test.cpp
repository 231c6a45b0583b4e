#include <attend/gelu.h>
#include <attend/reference.h>
#include <attend/threads.h>
#include <gtest/gtest.h>

#include <utility>

#include "support/compare.h"
#include "support/finite_difference.h"
#include "support/random.h"
#include "support/refuses.h"

namespace attend {
namespace {

struct BackwardForm {
  void (*judge)(ConstTensorView, TensorView);
  void (*backward)(ConstTensorView, ConstTensorView, TensorView);
  void (*judge_backward)(ConstTensorView, ConstTensorView, TensorView);
};
constexpr BackwardForm kBackwardForms[] = {
    {reference::gelu, gelu_backward, reference::gelu_backward},
    {reference::gelu_tanh, gelu_tanh_backward, reference::gelu_tanh_backward},
};

Tensor applied_backward(const BackwardForm& form, ConstTensorView x, ConstTensorView d_out) {
  Tensor d_x(x.dtype(), x.shape());
  form.backward(x, d_out, d_x);
  return d_x;
}

TEST(GeluBackward, TheReferenceAgreesWithFiniteDifferences) {
  for (const BackwardForm& form : kBackwardForms) {
    Tensor x = random_normal({5, 9}, DType::f64, 1, 2), found(DType::f64, {5, 9});
    const Tensor d_out = random_normal({5, 9}, DType::f64, 2);
    form.judge_backward(x, d_out, found);
    const Tensor expected = finite_difference(x, [&] {
      Tensor out(DType::f64, x.shape());
      form.judge(x, out);
      return inner_product(out, d_out);
    });
    EXPECT_LT(max_abs_difference(found, expected), 1e-10);
  }
}

TEST(GeluBackward, EveryTypeAndRankAgreesWithFloat64) {
  for (const BackwardForm& form : kBackwardForms) {
    for (const Dims& shape : {Dims{7}, Dims{5, 7}, Dims{2, 5, 7}, Dims{2, 3, 5, 67}}) {
      for (const auto& [dtype, tolerance] :
           {std::pair{DType::f64, 1e-14}, {DType::f32, 2e-6}, {DType::bf16, 0.02}, {DType::f16, 0.002}}) {
        const Tensor x = random_normal(shape, dtype, 3), d_out = random_normal(shape, dtype, 4);
        Tensor expected(DType::f64, shape);
        form.judge_backward(x, d_out, expected);
        EXPECT_LE(max_abs_difference(applied_backward(form, x, d_out), expected), tolerance);
      }
    }
  }
}

TEST(GeluBackward, AnyStridesAndInPlace) {
  for (const BackwardForm& form : kBackwardForms) {
    for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
      Tensor x = random_normal({6, 4, 9}, dtype, 4), d_out = random_normal({9, 4, 6}, dtype, 5);
      const TensorView turned = x.view().transposed(0, 2);
      const Tensor expected = applied_backward(form, copy_of(turned), d_out);
      EXPECT_TRUE(same_bits(applied_backward(form, turned, d_out), expected));
      Tensor over = copy_of(d_out);
      form.backward(turned, over, over);
      EXPECT_TRUE(same_bits(over, expected));
      form.backward(turned, d_out, turned);
      EXPECT_TRUE(same_bits(turned, expected));
    }
  }
}

TEST(GeluBackward, SameBitsWithAnyNumberOfThreads) {
  const Tensor x = random_normal({500, 33}, DType::f32, 7), d_out = random_normal({500, 33}, DType::f32, 8);
  for (const BackwardForm& form : kBackwardForms) {
    set_threads(1);
    const Tensor expected = applied_backward(form, x, d_out);
    for (const int count : {2, 3, 8}) {
      set_threads(count);
      EXPECT_TRUE(same_bits(applied_backward(form, x, d_out), expected));
    }
  }
  set_threads(0);
}

TEST(GeluBackward, EmptyInputs) {
  const Tensor rows(DType::f32, {0, 5}), columns(DType::bf16, {5, 0});
  EXPECT_EQ(applied_backward(kBackwardForms[0], rows, rows).count(), 0);
  EXPECT_EQ(applied_backward(kBackwardForms[1], columns, columns).count(), 0);
}

TEST(GeluBackward, Refuses) {
  Tensor x(DType::f32, {2, 3}), d(DType::f32, {2, 3}), wide(DType::f32, {2, 4}), doubles(DType::f64, {2, 3});
  EXPECT_REFUSES(gelu_backward({}, d, x), "[gelu_backward] x is not given");
  EXPECT_REFUSES(gelu_backward(x, wide, x), "[gelu_backward] d_out has shape (2, 4), expected (2, 3)");
  EXPECT_REFUSES(gelu_backward(x, d, wide), "[gelu_backward] d_x has shape (2, 4), expected (2, 3)");
  EXPECT_REFUSES(gelu_tanh_backward(x, doubles, x), "[gelu_tanh_backward] d_out is f64, expected f32 as x");
  EXPECT_REFUSES(gelu_tanh_backward(x, d, doubles), "[gelu_tanh_backward] d_x is f64, expected f32 as x");
  EXPECT_REFUSES(gelu_backward(x, wide.view().slice(1, 0, 3), wide.view().slice(1, 1, 4)),
                 "[gelu_backward] d_x overlaps d_out in memory");
  EXPECT_REFUSES(reference::gelu_backward(x, wide, x),
                 "[reference::gelu_backward] d_out has shape (2, 4), expected (2, 3)");
}

}  // namespace
}  // namespace attend
