#include "doctor/row_order.h"

#include <gtest/gtest.h>

#include "support/random.h"

namespace attend::doctor {
namespace {

// The rows of a matrix in another order.
Tensor reordered(const Tensor& rows, const std::vector<std::int64_t>& order) {
  Tensor result(DType::f64, rows.shape());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    copy(copy_of(rows.view().slice(0, order[i], order[i] + 1), DType::f64),
         result.view().slice(0, at, at + 1));
  }
  return result;
}

TEST(RowOrder, FindsTheRows) {
  const Tensor ours = random_normal({5, 8}, DType::f32, 1);
  const Trial trial = try_row_order(ours, reordered(ours, {0, 3, 1, 4, 2}));
  EXPECT_TRUE(trial.explains);
  EXPECT_EQ(trial.meaning, "the rows of the reference are in another order; text 1 is its row 2");
}

TEST(RowOrder, TheSameTextTwiceKeepsItsPlace) {
  Tensor ours = random_normal({3, 8}, DType::f32, 1);
  copy(copy_of(ours.view().slice(0, 0, 1)), ours.view().slice(0, 2, 3));
  const Trial trial = try_row_order(ours, reordered(ours, {0, 1, 2}));
  EXPECT_FALSE(trial.agreement);
  EXPECT_EQ(trial.why_not, "same order");
}

TEST(RowOrder, OtherVectorsAreNoOtherOrder) {
  const Tensor ours = random_normal({6, 8}, DType::f32, 1), others = random_normal({6, 8}, DType::f64, 2);
  EXPECT_FALSE(try_row_order(ours, others).explains);
}

TEST(RowOrder, OneTextHasNoOrder) {
  const Tensor ours = random_normal({1, 8}, DType::f32, 1), others = random_normal({1, 8}, DType::f64, 2);
  EXPECT_EQ(try_row_order(ours, others).why_not, "fewer than 2 texts");
}

}  // namespace
}  // namespace attend::doctor
