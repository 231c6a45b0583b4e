#include <attend/gelu.h>
#include <attend/reference.h>
#include <attend/threads.h>
#include <gtest/gtest.h>

#include <utility>

#include "support/compare.h"
#include "support/random.h"
#include "support/refuses.h"

namespace attend {
namespace {

using Form = void (*)(ConstTensorView, TensorView);
constexpr std::pair<Form, Form> kForms[] = {{gelu, reference::gelu}, {gelu_tanh, reference::gelu_tanh}};

Tensor applied(Form form, ConstTensorView x) {
  Tensor out(x.dtype(), x.shape());
  form(x, out);
  return out;
}

TEST(Gelu, EveryTypeAndRankAgreesWithFloat64) {
  for (const auto& [fast, judge] : kForms) {
    for (const Dims& shape : {Dims{7}, Dims{5, 7}, Dims{2, 5, 7}, Dims{2, 3, 5, 67}}) {
      for (const auto& [dtype, tolerance] :
           {std::pair{DType::f64, 1e-15}, {DType::f32, 4e-7}, {DType::bf16, 0.01}, {DType::f16, 0.001}}) {
        const Tensor x = random_normal(shape, dtype, 3);
        Tensor expected(DType::f64, shape);
        judge(x, expected);
        EXPECT_LE(max_abs_difference(applied(fast, x), expected), tolerance);
      }
    }
  }
}

TEST(Gelu, AnyStridesAndInPlace) {
  for (const auto& [fast, judge] : kForms) {
    for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
      Tensor x = random_normal({6, 4, 9}, dtype, 4);
      const TensorView turned = x.view().transposed(0, 2);
      const Tensor expected = applied(fast, copy_of(turned));
      EXPECT_TRUE(same_bits(applied(fast, turned), expected));
      fast(turned, turned);
      EXPECT_TRUE(same_bits(turned, expected));
    }
  }
}

TEST(Gelu, SameBitsWithAnyNumberOfThreads) {
  const Tensor x = random_normal({500, 33}, DType::f32, 7);
  for (const auto& [fast, judge] : kForms) {
    set_threads(1);
    const Tensor expected = applied(fast, x);
    for (const int count : {2, 3, 8}) {
      set_threads(count);
      EXPECT_TRUE(same_bits(applied(fast, x), expected));
    }
  }
  set_threads(0);
}

TEST(Gelu, EmptyInputs) {
  EXPECT_EQ(applied(gelu, Tensor(DType::f32, {0, 5})).count(), 0);
  EXPECT_EQ(applied(gelu_tanh, Tensor(DType::bf16, {5, 0})).count(), 0);
}

TEST(Gelu, Refuses) {
  Tensor x(DType::f32, {2, 3}), wide(DType::f32, {2, 4}), doubles(DType::f64, {2, 3});
  EXPECT_REFUSES(gelu(x, wide), "[gelu] out has shape (2, 4), expected (2, 3)");
  EXPECT_REFUSES(gelu_tanh(x, doubles), "[gelu_tanh] out is f64, expected f32 as x");
  EXPECT_REFUSES(gelu({}, x), "[gelu] x is not given");
  EXPECT_REFUSES(gelu(Tensor(DType::boolean, {2}), x), "[gelu] x is boolean, expected a floating type");
  EXPECT_REFUSES(gelu(wide.view().slice(1, 0, 3), wide.view().slice(1, 1, 4)),
                 "[gelu] out overlaps x in memory");
  EXPECT_REFUSES(reference::gelu(x, wide), "[reference::gelu] out has shape (2, 4), expected (2, 3)");
}

}  // namespace
}  // namespace attend
