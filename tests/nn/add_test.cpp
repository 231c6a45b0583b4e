#include <attend/add.h>
#include <gtest/gtest.h>

#include "support/compare.h"
#include "support/random.h"
#include "support/refuses.h"

namespace attend {
namespace {

TEST(Add, TheSumOfEachPair) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
    const Tensor a = random_normal({7, 5}, dtype, 1), b = random_normal({5, 7}, dtype, 2);
    Tensor out(dtype, {7, 5}), in_place = copy_of(a);
    add(a, b.view().transposed(0, 1), out);
    add(in_place, b.view().transposed(0, 1), in_place);
    EXPECT_TRUE(same_bits(out, in_place));
    const Tensor left = copy_of(a, DType::f64), right = copy_of(b.view().transposed(0, 1), DType::f64);
    Tensor sum(DType::f64, {7, 5}), expected(dtype, {7, 5});
    for (std::size_t i = 0; i < 35; ++i)
      sum.values<double>()[i] = left.values<double>()[i] + right.values<double>()[i];
    copy(sum, expected);
    EXPECT_TRUE(same_bits(out, expected)) << name_of(dtype);
  }
}

TEST(Add, Refuses) {
  Tensor a(DType::f32, {2, 3}), b(DType::f32, {3, 2}), doubles(DType::f64, {2, 3});
  EXPECT_REFUSES(add(a, b, a), "[add] b has shape (3, 2), expected (2, 3)");
  EXPECT_REFUSES(add(a, a, doubles), "[add] out is f64, expected f32 as a");
  Tensor long_row(DType::f32, {1, 7});
  EXPECT_REFUSES(
      add(long_row.view().slice(1, 0, 6), long_row.view().slice(1, 0, 6), long_row.view().slice(1, 1, 7)),
      "[add] out overlaps a in memory");
}

}  // namespace
}  // namespace attend
