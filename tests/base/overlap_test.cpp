#include "base/overlap.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>

#include "base/for_each.h"
#include "support/random.h"

namespace attend {
namespace {

TEST(Overlap, WholeTensors) {
  const Tensor a(DType::f32, {3, 4}), b(DType::f32, {3, 4}), empty(DType::f32, {0, 4});
  EXPECT_TRUE(overlaps(a, a));
  EXPECT_FALSE(overlaps(a, b));
  EXPECT_FALSE(overlaps(a, empty));
  EXPECT_FALSE(overlaps(a, {}));
}

TEST(Overlap, PartsOfOneTensor) {
  const Tensor t(DType::f32, {8, 12});
  const ConstTensorView v = t;
  EXPECT_FALSE(overlaps(v.slice(1, 0, 4), v.slice(1, 4, 8)));
  EXPECT_TRUE(overlaps(v.slice(1, 0, 5), v.slice(1, 4, 8)));
  EXPECT_FALSE(overlaps(v.slice(0, 0, 4), v.slice(0, 4, 8)));
  EXPECT_TRUE(overlaps(v.slice(0, 0, 5), v.slice(0, 4, 8).transposed(0, 1)));
  EXPECT_FALSE(overlaps(v.slice(1, 0, 4).split(1, 2, 2), v.slice(1, 4, 8).split(1, 2, 2).transposed(0, 2)));
  // Even and odd columns, the odd ones backwards.
  const float* data = t.values<float>().data();
  EXPECT_FALSE(
      overlaps(ConstTensorView(data, {8, 6}, {12, 2}), ConstTensorView(data + 11, {8, 6}, {12, -2})));
  EXPECT_TRUE(overlaps(ConstTensorView(data, {8, 6}, {12, 2}), ConstTensorView(data + 10, {8, 6}, {12, -2})));
  // The same memory as smaller elements.
  const auto* halves = reinterpret_cast<const bfloat16*>(data);
  EXPECT_TRUE(overlaps(v.slice(0, 0, 1), ConstTensorView(halves + 23, {1})));
  EXPECT_FALSE(overlaps(v.slice(0, 0, 1), ConstTensorView(halves + 24, {1})));
}

// Against all the addresses, for random small views of one piece of memory.
TEST(Overlap, AgreesWithListingTheElements) {
  const Tensor memory(DType::f32, {2000});
  const float* middle = memory.values<float>().data() + 1000;
  const auto pick = [](std::uint64_t seed, std::uint64_t place, std::int64_t low, std::int64_t high) {
    return low +
           static_cast<std::int64_t>(random_bits(seed, place) % static_cast<std::uint64_t>(high - low + 1));
  };
  int together = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    ConstTensorView views[2];
    std::set<const float*> elements[2];
    for (std::uint64_t v = 0; v < 2; ++v) {
      const std::uint64_t p = v * 10;
      const Dims shape{pick(seed, p, 1, 3), pick(seed, p + 1, 1, 4), pick(seed, p + 2, 1, 3)};
      const Dims strides{pick(seed, p + 3, -40, 40), pick(seed, p + 4, -12, 12), pick(seed, p + 5, -4, 4)};
      const float* start = middle + pick(seed, p + 6, -20, 20);
      views[v] = ConstTensorView(start, shape, strides);
      for_each_index(shape, [&](const Dims& i) { elements[v].insert(start + offset_of(strides, i)); });
    }
    bool expected = false;
    for (const float* element : elements[0]) expected = expected || elements[1].contains(element);
    together += expected ? 1 : 0;
    ASSERT_EQ(overlaps(views[0], views[1]), expected) << seed;
    ASSERT_EQ(overlaps(views[1], views[0]), expected) << seed;
  }
  EXPECT_GT(together, 300);
  EXPECT_LT(together, 2700);
}

TEST(Overlap, SameAndRepeatedElements) {
  const Tensor t(DType::f32, {4, 4});
  const ConstTensorView v = t;
  EXPECT_TRUE(same_elements(v, v));
  EXPECT_FALSE(same_elements(v, v.transposed(0, 1)));
  EXPECT_FALSE(same_elements(v.slice(0, 0, 2), v.slice(0, 1, 3)));
  EXPECT_FALSE(may_repeat_elements(v));
  EXPECT_FALSE(may_repeat_elements(v.with_axis(0)));
  EXPECT_TRUE(may_repeat_elements(ConstTensorView(t.values<float>().data(), {2, 4}, {0, 1})));
}

}  // namespace
}  // namespace attend
