// The edges that other engines got wrong: rows without keys, NaN behind a mask, enormous scores, empty
// inputs.
#include <attend/reference.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "support/attention_case.h"
#include "support/compare.h"
#include "support/not_finite.h"
#include "support/random.h"

namespace attend {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class Edges : public testing::TestWithParam<DType> {
 protected:
  DType dtype() const { return GetParam(); }
  Tensor normal(const Dims& shape, std::uint64_t seed) const { return random_normal(shape, dtype(), seed); }
  void set(Tensor& tensor, std::int64_t index, double value) const {
    Tensor wide = copy_of(tensor, DType::f64);
    wide.values<double>()[static_cast<std::size_t>(index)] = value;
    copy(wide, tensor);
  }
  std::vector<double> row_sums(const Tensor& weights) const {
    const std::vector<double> values = values_of(weights);
    const auto width = static_cast<std::size_t>(weights.size(3));
    std::vector<double> sums;
    for (std::size_t row = 0; row * width < values.size(); ++row) {
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>(row * width);
      sums.push_back(std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(width), 0.0));
    }
    return sums;
  }
};

INSTANTIATE_TEST_SUITE_P(Types, Edges, testing::Values(DType::f32, DType::f64),
                         [](const auto& type) { return std::string(name_of(type.param)); });

TEST_P(Edges, ARowWithoutKeysIsZeroInEveryWayToMaskIt) {
  const Tensor q = normal({1, 1, 3, 4}, 1), k = normal({1, 1, 5, 4}, 2), v = normal({1, 1, 5, 4}, 3);
  const Tensor mask = Tensor::from<bool>({1, 1}, {false});
  Tensor bias = Tensor(dtype(), {1, 5});
  for (std::int64_t j = 0; j < 5; ++j) set(bias, j, -kInfinity);

  std::vector<AttentionOptions> ways(5);
  ways[0].mask = mask;
  ways[1].bias = bias;
  ways[2].key_lengths = {0};
  ways[3].causal = true;
  ways[3].query_offset = -10;
  ways[4].window = {2, 2};
  ways[4].query_offset = 100;
  for (const AttentionOptions& options : ways) {
    Tensor out = normal({1, 1, 3, 4}, 4);
    RowState state(q);
    attention(q, k, v, options, out, state);
    Tensor lse(dtype(), state.max.shape());
    log_sum_exp(state, lse);
    for (const double value : values_of(out)) EXPECT_EQ(value, 0);
    for (const double value : values_of(state.sum)) EXPECT_EQ(value, 0);
    for (const double value : values_of(lse)) EXPECT_EQ(value, -kInfinity);
    for (const double value : values_of(attention_rows(q, k, options, Stage::weights))) EXPECT_EQ(value, 0);

    Tensor dq(DType::f64, q.shape()), dk(DType::f64, k.shape()), dv(DType::f64, v.shape());
    reference::attention_backward(q, k, v, options, normal({1, 1, 3, 4}, 5), {.q = dq, .k = dk, .v = dv});
    for (const Tensor* gradient : {&dq, &dk, &dv}) {
      for (const double value : values_of(*gradient)) EXPECT_EQ(value, 0);
    }
  }
}

TEST_P(Edges, WhatAMaskedKeyHoldsNeverMatters) {
  for (const double poison : {kNan, kInfinity, -kInfinity}) {
    const Tensor q = normal({1, 2, 6, 4}, 1);
    Tensor k = normal({1, 2, 6, 4}, 2), v = normal({1, 2, 6, 4}, 3);
    Tensor clean_k = copy_of(k), clean_v = copy_of(v);
    for (std::int64_t h = 0; h < 2; ++h) {
      for (std::int64_t c = 0; c < 4; ++c) {
        set(k, (h * 6 + 5) * 4 + c, poison);
        set(v, (h * 6 + 5) * 4 + c, poison);
      }
    }
    const Tensor mask = Tensor::from<bool>({1, 6}, {true, true, true, true, true, false});
    Tensor bias(dtype(), {1, 6});
    set(bias, 5, -kInfinity);
    std::vector<AttentionOptions> ways(5);
    ways[0].mask = mask;
    ways[1].bias = bias;
    ways[2].key_lengths = {5};
    ways[3].causal = true;
    ways[3].query_offset = -1;
    ways[4].window = {-1, 0};
    ways[4].query_offset = -1;
    for (AttentionOptions& options : ways) {
      options.softcap = 2;
      EXPECT_TRUE(same_bits(attention(q, k, v, options), attention(q, clean_k, clean_v, options)));
      EXPECT_TRUE(same_bits(attention_rows(q, k, options, Stage::weights),
                            attention_rows(q, clean_k, options, Stage::weights)));
      const Tensor d_out = normal({1, 2, 6, 4}, 5);
      const auto gradients = [&](const Tensor& keys, const Tensor& values) {
        std::vector<Tensor> result;
        for (int i = 0; i < 3; ++i) result.emplace_back(DType::f64, q.shape());
        reference::attention_backward(q, keys, values, options, d_out,
                                      {.q = result[0], .k = result[1], .v = result[2]});
        return result;
      };
      const auto poisoned = gradients(k, v), expected = gradients(clean_k, clean_v);
      for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(same_bits(poisoned[i], expected[i])) << i;
    }
  }
}

TEST_P(Edges, WhatAnAttendedKeyHoldsDoesMatter) {
  const Tensor q = normal({1, 1, 4, 4}, 1);
  Tensor k = normal({1, 1, 4, 4}, 2), v = normal({1, 1, 4, 4}, 3);
  AttentionOptions options;
  options.causal = true;
  set(k, 2 * 4, kNan);  // key 2: seen by queries 2 and 3 only
  const std::vector<double> out = values_of(attention(q, k, v, options));
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(std::isnan(out[i]), i >= 8) << i;

  k = normal({1, 1, 4, 4}, 2);
  set(v, 2 * 4 + 1, kNan);  // one element of value 2
  const std::vector<double> other = values_of(attention(q, k, v, options));
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(std::isnan(other[i]), i == 9 || i == 13) << i;
}

TEST_P(Edges, EnormousScoresStayFiniteAndRowsAddUpToOne) {
  const double largest = dtype() == DType::f32 ? 1e38 : 1e300;
  for (const double size : {1e4, 1e8, 1e19, 1e30, largest}) {
    Tensor q = normal({1, 1, 8, 2}, 1), k(dtype(), {1, 1, 64, 2});
    const Tensor v = normal({1, 1, 64, 3}, 3);
    for (std::int64_t i = 0; i < 8; ++i) set(q, 2 * i, 1), set(q, 2 * i + 1, 0);
    for (std::int64_t j = 0; j < 64; ++j)
      set(k, 2 * j, size * (2 * uniform_at(9, static_cast<std::uint64_t>(j)) - 1));
    AttentionOptions options;
    options.scale = 1;
    Tensor out(dtype(), {1, 1, 8, 3}), expected(DType::f64, {1, 1, 8, 3});
    RowState state(q);
    attention(q, k, v, options, out, state);
    reference::attention(q, k, v, options, expected);
    EXPECT_LE(max_abs_difference(out, expected), 1e-6) << size;
    for (const double sum : row_sums(attention_rows(q, k, options, Stage::weights)))
      EXPECT_NEAR(sum, 1, 1e-6);
    for (const double value : values_of(state.max)) EXPECT_TRUE(std::isfinite(value));
  }
}

TEST_P(Edges, LargeNearlyEqualScoresAddUpToOne) {
  // Scores near 1e4 that differ by units: one fp32 log-sum-exp would lose 4.5e-4 of the row here.
  Tensor q = Tensor(dtype(), {1, 1, 1, 1}), k(dtype(), {1, 1, 1000, 1});
  set(q, 0, 1);
  for (std::int64_t j = 0; j < 1000; ++j) set(k, j, 1e4 + uniform_at(3, static_cast<std::uint64_t>(j)) * 4);
  AttentionOptions options;
  options.scale = 1;
  for (const double sum : row_sums(attention_rows(q, k, options, Stage::weights))) EXPECT_NEAR(sum, 1, 1e-6);
}

TEST_P(Edges, EqualScoresGiveTheMean) {
  const Tensor q(dtype(), {1, 1, 2, 4}), v = normal({1, 1, 7, 3}, 3), k = normal({1, 1, 7, 4}, 2);
  const std::vector<double> out = values_of(attention(q, k, v)), values = values_of(v);
  for (std::size_t c = 0; c < 3; ++c) {
    double mean = 0;
    for (std::size_t j = 0; j < 7; ++j) mean += values[j * 3 + c] / 7;
    EXPECT_NEAR(out[c], mean, 1e-6);
  }
  for (const double weight : values_of(attention_rows(q, k, {}, Stage::weights)))
    EXPECT_NEAR(weight, 1.0 / 7, 1e-7);
}

TEST_P(Edges, Denormals) {
  Tensor q = normal({1, 1, 3, 4}, 1), k = normal({1, 1, 5, 4}, 2), v(dtype(), {1, 1, 5, 2});
  const double tiny = dtype() == DType::f32 ? 1e-41 : 1e-310;
  for (std::int64_t i = 0; i < 12; ++i) set(q, i, tiny);
  for (std::int64_t i = 0; i < 10; ++i) set(v, i, tiny * static_cast<double>(i + 1));
  const std::vector<double> out = values_of(attention(q, k, v));
  EXPECT_NEAR(out[0] / tiny, 5.0, 0.01);  // the mean of 1, 3, 5, 7, 9
}

TEST_P(Edges, EmptyInputsAreLegal) {
  // No batch, no heads, no queries, no keys, no value columns.
  EXPECT_EQ(attention(normal({0, 2, 3, 4}, 1), normal({0, 2, 3, 4}, 1), normal({0, 2, 3, 4}, 1)).count(), 0);
  EXPECT_EQ(attention(normal({1, 0, 3, 4}, 1), normal({1, 0, 3, 4}, 1), normal({1, 0, 3, 4}, 1)).count(), 0);
  EXPECT_EQ(attention(normal({1, 2, 0, 4}, 1), normal({1, 2, 3, 4}, 1), normal({1, 2, 3, 4}, 1)).count(), 0);
  EXPECT_EQ(attention(normal({1, 2, 3, 4}, 1), normal({1, 2, 3, 4}, 1), normal({1, 2, 3, 0}, 1)).count(), 0);
  for (const double value :
       values_of(attention(normal({2, 2, 3, 4}, 1), normal({2, 2, 0, 4}, 1), normal({2, 2, 0, 4}, 1)))) {
    EXPECT_EQ(value, 0);
  }
  AttentionOptions packed;
  packed.cumulative_query_lengths = packed.cumulative_key_lengths = {0};
  EXPECT_EQ(attention(normal({0, 2, 4}, 1), normal({0, 2, 4}, 1), normal({0, 2, 4}, 1), packed).count(), 0);
  EXPECT_EQ(attention_rows(normal({1, 2, 3, 4}, 1), normal({1, 2, 0, 4}, 1), {}, Stage::weights).count(), 0);
  EXPECT_EQ(attention_rows(normal({1, 2, 3, 4}, 1), normal({1, 2, 5, 4}, 1), {}, Stage::weights,
                           {.rows = std::vector<std::int64_t>{}})
                .count(),
            0);
  Tensor dk(DType::f64, {1, 2, 0, 4}), dq(DType::f64, {1, 2, 3, 4});
  reference::attention_backward(normal({1, 2, 3, 4}, 1), normal({1, 2, 0, 4}, 1), normal({1, 2, 0, 4}, 1), {},
                                normal({1, 2, 3, 4}, 1), {.q = dq, .k = dk});
}

// A caller's "as far as numbers go" is not a mistake.
TEST_P(Edges, AWindowBeyondEveryDistanceIsNone) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kFarthestOffset = std::int64_t{1} << 48;
  const Tensor q = normal({1, 2, 5, 4}, 1), k = normal({1, 2, 7, 4}, 2), v = normal({1, 2, 7, 4}, 3);
  for (const std::int64_t offset : {std::int64_t{0}, kFarthestOffset, -kFarthestOffset}) {
    const AttentionOptions open{.query_offset = offset};
    for (const std::int64_t side : {kMost, kMost - 1, kFarthestOffset * 4}) {
      AttentionOptions wide = open;
      wide.window = {.left = side, .right = side};
      EXPECT_TRUE(same_bits(attention(q, k, v, wide), attention(q, k, v, open))) << offset << ", " << side;
    }
  }
}

TEST_P(Edges, ASinkTakesWeightAndGivesNothing) {
  const Tensor q(dtype(), {1, 1, 1, 2}), k(dtype(), {1, 1, 3, 2});
  Tensor v(dtype(), {1, 1, 3, 1});
  for (std::int64_t j = 0; j < 3; ++j) set(v, j, 1);
  AttentionOptions options;
  options.sinks = {0};  // as strong as each of the three keys
  EXPECT_NEAR(values_of(attention(q, k, v, options))[0], 0.75, 1e-7);
  options.key_lengths = {0};  // alone it takes everything, and the output is 0
  Tensor out(dtype(), {1, 1, 1, 1});
  RowState state(q);
  attention(q, k, v, options, out, state);
  EXPECT_EQ(values_of(out)[0], 0);
  EXPECT_EQ(values_of(state.sum)[0], 1);
  options.sinks = {-kInfinity};  // no sink at all
  options.key_lengths = {};
  EXPECT_NEAR(values_of(attention(q, k, v, options))[0], 1, 1e-7);
}

}  // namespace
}  // namespace attend
