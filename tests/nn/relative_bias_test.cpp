#include <attend/positions.h>
#include <attend/reference.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "support/compare.h"
#include "support/finite_difference.h"
#include "support/random.h"
#include "support/refuses.h"

namespace attend {
namespace {

// The first distance of each bucket, from -2000 on.
using Runs = std::vector<std::pair<std::int64_t, std::int64_t>>;

Runs runs_of(const RelativeBuckets& shape) {
  Runs runs;
  for (std::int64_t distance = -2000; distance <= 2000; ++distance) {
    const std::int64_t bucket = relative_bucket(distance, shape);
    if (runs.empty() || runs.back().second != bucket) runs.emplace_back(distance, bucket);
  }
  return runs;
}

// The golden values come from T5's published formula carried out by PyTorch 2.11 in f32: log, division and
// product each rounded, then cut to a whole number.
TEST(RelativeBucket, AgreesWithT5AndMPNet) {
  const Runs bidirectional{{-2000, 15}, {-90, 14}, {-63, 13}, {-45, 12}, {-31, 11}, {-22, 10}, {-15, 9},
                           {-11, 8},    {-7, 7},   {-6, 6},   {-5, 5},   {-4, 4},   {-3, 3},   {-2, 2},
                           {-1, 1},     {0, 0},    {1, 17},   {2, 18},   {3, 19},   {4, 20},   {5, 21},
                           {6, 22},     {7, 23},   {8, 24},   {12, 25},  {16, 26},  {23, 27},  {32, 28},
                           {46, 29},    {64, 30},  {91, 31}};
  EXPECT_EQ(runs_of({32, 128, true}), bidirectional);
  const Runs one_sided{{-2000, 31}, {-112, 30}, {-98, 29}, {-86, 28}, {-76, 27}, {-66, 26}, {-58, 25},
                       {-51, 24},   {-45, 23},  {-39, 22}, {-34, 21}, {-30, 20}, {-26, 19}, {-23, 18},
                       {-20, 17},   {-18, 16},  {-15, 15}, {-14, 14}, {-13, 13}, {-12, 12}, {-11, 11},
                       {-10, 10},   {-9, 9},    {-8, 8},   {-7, 7},   {-6, 6},   {-5, 5},   {-4, 4},
                       {-3, 3},     {-2, 2},    {-1, 1},   {0, 0}};
  EXPECT_EQ(runs_of({32, 128, false}), one_sided);
}

// More shapes, by the FNV-1a hash of the 4001 buckets from the same computation. The last two have a border
// on a whole distance, where the rounding decides.
TEST(RelativeBucket, AgreesForManyShapes) {
  const std::vector<std::pair<RelativeBuckets, std::uint64_t>> golden{
      {{32, 128, true}, 0xb36d01877127f037},   {{32, 128, false}, 0xda2e55a62c7f830f},
      {{32, 256, true}, 0xa3e3b3a6d2ae9fcf},   {{64, 128, true}, 0x8efbedcedd0bfa17},
      {{64, 1000, false}, 0xc3bc56aa7d2ea4fb}, {{20, 50, true}, 0x49ca982cfb1e1453},
      {{16, 20, false}, 0xf7cc696ac31015d4},   {{4, 2, true}, 0xb946be08155bba1f},
      {{2, 3, false}, 0x69965ec4a0eae7cf},     {{128, 2048, true}, 0xd7b22a6d2fc76737},
      {{320, 800, true}, 0x2a49a15a66e078e7},  {{33, 129, false}, 0x207489f66fd250c2},
      {{48, 81, false}, 0x9c59f1864ef4fe31},   {{96, 81, true}, 0xabc4434737861637},
  };
  for (const auto& [shape, expected] : golden) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (std::int64_t distance = -2000; distance <= 2000; ++distance) {
      hash = (hash ^ static_cast<std::uint64_t>(relative_bucket(distance, shape))) * 0x100000001b3;
    }
    EXPECT_EQ(hash, expected) << shape.buckets << ' ' << shape.max_distance << ' ' << shape.bidirectional;
  }
}

TEST(RelativeBucket, TheFarthestDistancesAndRefusals) {
  constexpr std::int64_t kFarthest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(relative_bucket(kFarthest, {}), 31);
  EXPECT_EQ(relative_bucket(-kFarthest - 1, {}), 15);
  EXPECT_EQ(relative_bucket(kFarthest, {32, 128, false}), 0);
  EXPECT_LT(relative_bucket(kFarthest, {kFarthest, kFarthest, true}), kFarthest);
  EXPECT_REFUSES(relative_bucket(0, {3, 128, true}),
                 "[relative_bucket] expected at least 4 bidirectional buckets, got 3");
  EXPECT_REFUSES(relative_bucket(0, {1, 128, false}),
                 "[relative_bucket] expected at least 2 one-sided buckets, got 1");
  EXPECT_REFUSES(relative_bucket(0, {-8, 128, true}), "buckets, got -8");
  EXPECT_REFUSES(relative_bucket(0, {32, 8, true}),
                 "[relative_bucket] max_distance is 8, expected more than the 8");
}

TEST(RelativeBias, EachEntryIsThatOfItsBucket) {
  constexpr std::int64_t kHeads = 3, kQueries = 5, kKeys = 40;
  for (const RelativeBuckets& shape : {RelativeBuckets{8, 20, true}, RelativeBuckets{8, 20, false}}) {
    for (const std::int64_t offset : {-3, 0, 35}) {
      const Tensor table = random_normal({8, kHeads}, DType::f32, 1);
      Tensor out(DType::f32, {kHeads, kQueries, kKeys}), expected(DType::f32, {kHeads, kQueries, kKeys});
      relative_bias(table, shape, offset, out);
      std::size_t place = 0;
      for (std::int64_t h = 0; h < kHeads; ++h) {
        for (std::int64_t i = 0; i < kQueries; ++i) {
          for (std::int64_t j = 0; j < kKeys; ++j) {
            const std::int64_t bucket = relative_bucket(j - (i + offset), shape);
            expected.values<float>()[place++] =
                table.values<float>()[static_cast<std::size_t>(bucket * kHeads + h)];
          }
        }
      }
      EXPECT_TRUE(same_bits(out, expected));
    }
  }
}

TEST(RelativeBias, AnyTypeAndStrides) {
  const RelativeBuckets shape{8, 20, true};
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
    const Tensor table = random_normal({3, 8}, dtype, 2);
    const ConstTensorView turned = table.view().transposed(0, 1);
    Tensor out(dtype, {6, 7, 3}), expected(dtype, {3, 7, 6});
    relative_bias(turned, shape, 0, out.view().transposed(0, 2));
    relative_bias(copy_of(turned), shape, 0, expected);
    EXPECT_TRUE(same_bits(out.view().transposed(0, 2), expected));
  }
}

TEST(RelativeBias, EmptyAndRefused) {
  const RelativeBuckets shape{8, 20, true};
  const Tensor table(DType::f32, {8, 2});
  for (const Dims& empty : {Dims{2, 0, 5}, Dims{2, 5, 0}, Dims{2, 0, 0}}) {
    Tensor none(DType::f32, empty);
    relative_bias(table, shape, 0, none);
    Tensor d_table = random_normal({8, 2}, DType::f64, 1);
    reference::relative_bias_backward(none, shape, 0, d_table);
    EXPECT_EQ(max_abs_difference(d_table, Tensor(DType::f64, {8, 2})), 0);
  }
  Tensor out(DType::f32, {2, 3, 3});
  EXPECT_REFUSES(relative_bias(Tensor(DType::f32, {7, 2}), shape, 0, out),
                 "[relative_bias] table has shape (7, 2), expected (8, 2)");
  EXPECT_REFUSES(relative_bias(Tensor(DType::f64, {8, 2}), shape, 0, out),
                 "[relative_bias] out is f32, expected f64 as table");
  EXPECT_REFUSES(relative_bias(table, shape, 0, out.view().select(0, 0)),
                 "[relative_bias] out has shape (3, 3), expected 3 dimensions");
  EXPECT_REFUSES(relative_bias(table, shape, INT64_MIN, out), "[relative_bias] query_offset");
  EXPECT_REFUSES(relative_bias(table, {8, 1, true}, 0, out), "[relative_bias] max_distance is 1");
  EXPECT_REFUSES(relative_bias(table, shape, 0, {}), "[relative_bias] out is not given");
}

TEST(RelativeBiasBackward, AgreesWithFiniteDifferences) {
  const RelativeBuckets shape{8, 6, true};
  Tensor table = random_normal({8, 2}, DType::f64, 1);
  const Tensor d_bias = random_normal({2, 5, 9}, DType::f64, 2);
  const Tensor expected = finite_difference(table, [&] {
    Tensor bias(DType::f64, {2, 5, 9});
    relative_bias(table, shape, 3, bias);
    return inner_product(bias, d_bias);
  });
  Tensor d_table = random_normal({8, 2}, DType::f64, 3);  // written, not added to
  reference::relative_bias_backward(d_bias, shape, 3, d_table);
  EXPECT_LT(max_abs_difference(d_table, expected), 1e-10);
}

}  // namespace
}  // namespace attend
