#include <attend/embedding.h>
#include <attend/threads.h>
#include <gtest/gtest.h>

#include <vector>

#include "support/compare.h"
#include "support/finite_difference.h"
#include "support/random.h"
#include "support/refuses.h"

namespace attend {
namespace {

const std::vector<std::int32_t> kIds{2, 0, 2, 2, 1};

Tensor looked_up(ConstTensorView table) {
  Tensor out(table.dtype(), {static_cast<std::int64_t>(kIds.size()), table.size(1)});
  embedding(kIds, table, out);
  return out;
}

TEST(Embedding, TakesRowsAndAddsThem) {
  const Tensor table = Tensor::from<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  const Tensor expected = Tensor::from<float>({5, 2}, {5, 6, 1, 2, 5, 6, 5, 6, 3, 4});
  EXPECT_TRUE(same_bits(looked_up(table), expected));
  const Tensor turned = copy_of(table.view().transposed(0, 1));
  EXPECT_TRUE(same_bits(looked_up(turned.view().transposed(0, 1)), expected));
  Tensor twice = copy_of(expected);
  add_embedding(kIds, table, twice);
  EXPECT_TRUE(same_bits(twice, Tensor::from<float>({5, 2}, {10, 12, 2, 4, 10, 12, 10, 12, 6, 8})));
}

TEST(Embedding, GradientAgreesWithFiniteDifferences) {
  Tensor table = random_normal({3, 4}, DType::f64, 1);
  const Tensor d_out = random_normal({5, 4}, DType::f64, 2), before = random_normal({3, 4}, DType::f64, 3);
  const auto loss = [&] { return inner_product(looked_up(table), d_out) + inner_product(table, before); };
  Tensor d_table = copy_of(before);
  add_embedding_gradient(kIds, d_out, d_table);
  EXPECT_LT(max_abs_difference(d_table, finite_difference(table, loss)), 1e-9);
}

TEST(Embedding, GradientHasTheSameBitsWithAnyThreads) {
  std::vector<std::int32_t> ids(1000);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(random_bits(1, i) % 17);
  const Tensor d_out = random_normal({1000, 200}, DType::f32, 2);
  set_threads(1);
  Tensor expected(DType::f32, {17, 200});
  add_embedding_gradient(ids, d_out, expected);
  for (const int count : {2, 3, 8}) {
    set_threads(count);
    Tensor found(DType::f32, {17, 200});
    add_embedding_gradient(ids, d_out, found);
    EXPECT_TRUE(same_bits(found, expected));
  }
  set_threads(0);
}

TEST(Embedding, EmptyInputsAndRefusals) {
  Tensor table(DType::f32, {3, 2}), none(DType::f32, {0, 2}), five(DType::f32, {5, 2});
  embedding({}, table, none);
  add_embedding_gradient({}, none, table);
  const std::vector<std::int32_t> outside{0, 3, 0, 0, 0}, negative{0, 0, -1, 0, 0};
  EXPECT_REFUSES(embedding(outside, table, five), "[embedding] id 3 at place 1 is outside the table of 3");
  EXPECT_REFUSES(add_embedding_gradient(negative, five, table),
                 "[add_embedding_gradient] id -1 at place 2 is outside the table of 3");
  EXPECT_REFUSES(embedding(kIds, table, none), "out has shape (0, 2), expected (5, 2)");
  EXPECT_REFUSES(embedding(kIds, Tensor(DType::bf16, {3, 2}), five), "out is f32, expected bf16 as table");
}

}  // namespace
}  // namespace attend
