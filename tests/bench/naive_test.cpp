#include "bench/naive.h"

#include <attend/reference.h>
#include <gtest/gtest.h>

#include "bench/check.h"
#include "bench/inputs.h"

namespace attend::bench {
namespace {

TEST(BenchNaive, IsAttention) {
  for (const std::int64_t n : {1, 7, 200}) {
    const Tensor q = random_tensor(DType::f32, {n, 16}, 1), k = random_tensor(DType::f32, {n, 16}, 2),
                 v = random_tensor(DType::f32, {n, 16}, 3);
    Tensor scores(DType::f32, {n, n}), out(DType::f32, {n, 16}), expected(DType::f64, {1, 1, n, 16});
    naive_attention(q, k, v, scores, out);
    const auto four = [](const Tensor& x) { return x.view().with_axis(0).with_axis(0); };
    reference::attention(four(q), four(k), four(v), {}, expected);
    EXPECT_NO_THROW(require_close("naive", four(out), expected, 1e-5));
  }
  EXPECT_EQ(matrix_bytes(131072), 0x1p36);
}

}  // namespace
}  // namespace attend::bench
