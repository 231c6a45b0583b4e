#include <attend/positions.h>
#include <attend/reference.h>
#include <gtest/gtest.h>

#include <vector>

#include "support/compare.h"
#include "support/finite_difference.h"
#include "support/random.h"
#include "support/refuses.h"

namespace attend {
namespace {

using LearnedAt = std::vector<std::int64_t>;

TEST(LearnedPositions, AddsTheRowOfEachPosition) {
  const Tensor x = Tensor::from<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  const Tensor table = Tensor::from<float>({4, 2}, {0, 0, 10, 20, 30, 40, 50, 60});
  Tensor out(DType::f32, {3, 2});
  add_learned_positions(x, table, LearnedAt{2, 0, 2}, out);
  EXPECT_TRUE(same_bits(out, Tensor::from<float>({3, 2}, {31, 42, 3, 4, 35, 46})));
}

TEST(LearnedPositions, AnyTypeAndStridesAlsoInPlace) {
  const LearnedAt positions{3, 1, 4, 1, 5};
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
    const Tensor x = random_normal({7, 5}, dtype, 1), table = random_normal({7, 6}, dtype, 2);
    const ConstTensorView turned = x.view().transposed(0, 1), rows = table.view().transposed(0, 1);
    Tensor out(dtype, {5, 7}), place = copy_of(x);
    add_learned_positions(turned, rows, positions, out);
    add_learned_positions(place.view().transposed(0, 1), rows, positions, place.view().transposed(0, 1));
    EXPECT_TRUE(same_bits(out, place.view().transposed(0, 1)));
    const Tensor wide = copy_of(turned, DType::f64), wide_table = copy_of(rows, DType::f64);
    Tensor expected(DType::f64, {5, 7});
    add_learned_positions(wide, wide_table, positions, expected);
    EXPECT_TRUE(same_bits(out, copy_of(expected, dtype)));
  }
}

TEST(LearnedPositions, EmptyAndRefused) {
  Tensor x(DType::f32, {2, 3}), out(DType::f32, {2, 3}), table(DType::f32, {4, 3}), none(DType::f32, {0, 3});
  add_learned_positions(none, Tensor(DType::f32, {0, 3}), {}, none);
  const auto add = [&](ConstTensorView from, ConstTensorView rows, const LearnedAt& positions) {
    add_learned_positions(from, rows, positions, out);
  };
  EXPECT_REFUSES(add(x, table, {0, 4}),
                 "[add_learned_positions] position 4 of row 1 is outside the table of 4");
  EXPECT_REFUSES(add(x, table, {-1, 0}),
                 "[add_learned_positions] position -1 of row 0 is outside the table of 4");
  EXPECT_REFUSES(add(x, table, {0}), "[add_learned_positions] got 1 positions for 2 rows");
  EXPECT_REFUSES(add(x, Tensor(DType::f32, {4, 2}), {0, 0}),
                 "[add_learned_positions] table has shape (4, 2), expected (4, 3)");
  EXPECT_REFUSES(add(x, Tensor(DType::f64, {4, 3}), {0, 0}),
                 "[add_learned_positions] table is f64, expected f32 as x");
  EXPECT_REFUSES(add(none, table, {}), "[add_learned_positions] out has shape (2, 3), expected (0, 3)");
  EXPECT_REFUSES(add(x, out, {0, 1}), "[add_learned_positions] out overlaps table in memory");
  EXPECT_REFUSES(add(x.view().select(0, 0), table, {0}), "expected 2 dimensions");
}

TEST(LearnedPositionsBackward, AgreesWithFiniteDifferences) {
  const LearnedAt positions{2, 0, 2, 4, 2};  // repeated, and some never used
  const Tensor x = random_normal({5, 3}, DType::f64, 1), d_out = random_normal({5, 3}, DType::f64, 2);
  Tensor table = random_normal({6, 3}, DType::f64, 3);
  const Tensor expected = finite_difference(table, [&] {
    Tensor out(DType::f64, {5, 3});
    add_learned_positions(x, table, positions, out);
    return inner_product(out, d_out);
  });
  Tensor d_table = random_normal({6, 3}, DType::f64, 4);  // written, not added to
  reference::learned_positions_backward(d_out, positions, d_table);
  EXPECT_LT(max_abs_difference(d_table, expected), 1e-10);
  Tensor rounded(DType::f32, {3, 6});
  reference::learned_positions_backward(d_out, positions, rounded.view().transposed(0, 1));
  EXPECT_TRUE(same_bits(rounded.view().transposed(0, 1), copy_of(d_table, DType::f32)));
  EXPECT_REFUSES(reference::learned_positions_backward(d_out, LearnedAt{0, 1, 2, 3, 6}, d_table),
                 "[learned_positions_backward] position 6 of row 4 is outside the table of 6");
}

}  // namespace
}  // namespace attend
