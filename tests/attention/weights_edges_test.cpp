// Weights on demand where numbers end: ties, rows without keys, scores of any size, NaN, nothing at all, and
// what is refused.
#include <attend/isa.h>
#include <attend/reference.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "attention/weights_cases.h"
#include "support/compare.h"
#include "support/random.h"
#include "support/refuses.h"

namespace attend {
namespace {

class WeightsEdges : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { set_isa(GetParam()); }
  void TearDown() override { set_isa(""); }
};

INSTANTIATE_TEST_SUITE_P(All, WeightsEdges, testing::ValuesIn(available_isas()),
                         [](const auto& set) { return set.param; });

// One head, d = 1, scale 1: the scores of the query 1 are the keys themselves.
struct Line {
  explicit Line(std::vector<float> keys, std::int64_t queries = 1)
      : k(Tensor::from<float>({1, 1, static_cast<std::int64_t>(keys.size()), 1},
                              std::span<const float>(keys))),
        q(DType::f32, {1, 1, queries, 1}) {
    for (float& value : q.values<float>()) value = 1;
    options.scale = 1;
  }
  WeightsSummary operator()(const WeightsRequest& request) const {
    return summarize_weights(q, k, options, request);
  }
  WeightsSummary reference(const WeightsRequest& request) const {
    return reference::summarize_weights(q, k, options, request);
  }
  Tensor k, q;
  AttentionOptions options;
};

constexpr WeightsRequest kAll{.top_k = 4, .received = true, .entropy = true, .map_rows = 2, .map_columns = 3};

void expect_same(const WeightsSummary& got, const WeightsSummary& expected, double bound) {
  EXPECT_EQ(values_of(got.top_keys), values_of(expected.top_keys));
  EXPECT_LE(max_abs_difference(got.top_weights, expected.top_weights), bound);
  EXPECT_LE(max_abs_difference(got.received, expected.received), bound);
  EXPECT_LE(max_abs_difference(got.entropy, expected.entropy), bound);
  EXPECT_LE(max_abs_difference(got.map, expected.map), bound);
}

TEST_P(WeightsEdges, EqualScoresKeepTheOrderOfTheirKeys) {
  std::vector<float> keys(200);
  for (std::size_t j = 0; j < keys.size(); ++j) keys[j] = static_cast<float>(j * 7 % 5);
  const Line line(keys, 50);
  for (const std::int64_t top_k : {1, 3, 8, 20, 32, 40, 90}) {
    EXPECT_EQ(values_of(line({.top_k = top_k}).top_keys),
              values_of(line.reference({.top_k = top_k}).top_keys))
        << top_k;
  }
  const Line equal(std::vector<float>(100, 0.25f), 3);
  for (const std::int64_t top_k : {8, 40}) {
    const Tensor keys_of = equal({.top_k = top_k}).top_keys;
    for (std::int64_t i = 0; i < 3 * top_k; ++i) {
      EXPECT_EQ(keys_of.values<std::int64_t>()[static_cast<std::size_t>(i)], i % top_k);
    }
  }
}

TEST_P(WeightsEdges, MoreThanThereAreKeys) {
  const Line line({3, 1, 2});
  const WeightsSummary got = line({.top_k = 5});
  EXPECT_EQ(values_of(got.top_keys), (std::vector<double>{0, 2, 1, -1, -1}));
  EXPECT_EQ(got.top_weights.values<float>()[3], 0.0f);
  EXPECT_EQ(values_of(line({.top_k = 50}).top_keys)[3], -1);
}

TEST_P(WeightsEdges, RowsWithoutKeysAre0) {
  Line line({1, 2, 3, 4, 5}, 4);
  Tensor mask(DType::boolean, {4, 5});
  for (std::size_t j = 0; j < 5; ++j) mask.values<bool>()[15 + j] = j != 2;  // the last row sees four keys
  line.options.mask = mask;
  for (const bool sink : {false, true}) {
    if (sink) line.options.sinks = {0.5};
    const WeightsSummary got = line(kAll);
    expect_same(got, line.reference(kAll), 1e-6);
    EXPECT_EQ(got.entropy.values<float>()[0], 0.0f);
    EXPECT_EQ(got.top_keys.values<std::int64_t>()[0], -1);
    EXPECT_EQ(got.top_weights.values<float>()[0], 0.0f);
    EXPECT_EQ(got.received.values<float>()[2], 0.0f);
    EXPECT_EQ(got.map.values<float>()[0], 0.0f);
  }
}

// Scores that f32 holds exactly: the weights are then as exact as anywhere.
TEST_P(WeightsEdges, ScoresOfAnySize) {
  const auto around = [](float size, float step) {
    std::vector<float> keys;
    for (int j = 0; j < 150; ++j) keys.push_back(size + step * static_cast<float>(j * 37 % 11));
    return keys;
  };
  for (const std::vector<float>& keys :
       {around(1e4f, 0.125f), around(-1e4f, 0.125f), around(65536, 0.25f), around(1e30f, 1e29f),
        around(-3e38f, 1e37f), around(1e-40f, 1e-40f), std::vector<float>{3e38f, -3e38f, 2.9e38f, 1, -1}}) {
    const Line line(keys, 60);
    const WeightsSummary got = line(kAll);
    expect_same(got, line.reference(kAll), 2e-5);  // received adds up 60 rows
    const Tensor rows = attention_rows(line.q, line.k, line.options, Stage::weights);
    const std::vector<double> weights = values_of(rows.view().select(2, 17));
    EXPECT_NEAR(std::accumulate(weights.begin(), weights.end(), 0.0), 1, 1e-6);
    const std::vector<double> received = values_of(got.received);
    EXPECT_NEAR(std::accumulate(received.begin(), received.end(), 0.0), 60, 6e-5);
  }
}

TEST_P(WeightsEdges, RowsOfAnyLengthAddUpTo1) {
  for (const std::int64_t length : {1000, 70'000, 300'000}) {
    for (const double deviation : {0.0, 1.0, 4.0}) {
      const Tensor q = Tensor::from<float>({1, 1, 2, 1}, {1, -0.3f});
      const Tensor k = random_normal({1, 1, length, 1}, DType::f32, 5, deviation);
      const Tensor rows = attention_rows(q, k, {}, Stage::weights);
      const WeightsSummary summary =
          summarize_weights(q, k, {}, {.received = true, .map_rows = 1, .map_columns = 1});
      for (std::int64_t i = 0; i < 2; ++i) {
        const std::vector<double> weights = values_of(rows.view().select(2, i));
        EXPECT_NEAR(std::accumulate(weights.begin(), weights.end(), 0.0), 1, 1e-6) << length;
      }
      const std::vector<double> received = values_of(summary.received);
      EXPECT_NEAR(std::accumulate(received.begin(), received.end(), 0.0), 2, 2e-6) << length;
      EXPECT_NEAR(summary.map.values<float>()[0] * static_cast<double>(length), 1, 1e-5) << length;
    }
  }
}

// Very many rows: sums over them lose nothing.
TEST_P(WeightsEdges, ReceivedAddsUpOverManyRows) {
  const std::int64_t queries = 65'536;
  const Tensor q(DType::f32, {1, 1, queries, 1}), k(DType::f32, {1, 1, 3, 1});
  const WeightsSummary got = summarize_weights(q, k, {}, {.received = true, .map_rows = 1, .map_columns = 3});
  for (const float received : got.received.values<float>()) {
    EXPECT_NEAR(received, static_cast<double>(queries) / 3, 1e-5 * static_cast<double>(queries) / 3);
  }
  for (const float mean : got.map.values<float>()) EXPECT_NEAR(mean, 1.0 / 3, 1e-6);
}

// A NaN that takes part makes its row NaN, and all that the row adds to; one behind a mask does nothing.
TEST_P(WeightsEdges, NaNShowsWhereItTakesPartOnly) {
  for (const MapReduction reduction : {MapReduction::mean, MapReduction::max}) {
    AttentionCase c;
    c.key_heads = 2;
    c.queries = 75;
    c.keys = 140;
    c.causal = true;
    AttentionInputs in = make_inputs(c);
    in.q_storage.values<float>()[10 * 8 + 3] = NAN;           // row 10 of head 0
    in.k_storage.values<float>()[70 * 8 + 1] = NAN;           // seen by rows 70 to 74 of head 0
    in.k_storage.values<float>()[139 * 8] = NAN;              // seen by none
    in.k_storage.values<float>()[(140 + 60) * 8] = INFINITY;  // head 1: rows from 60 on
    const WeightsRequest request{.top_k = 3,
                                 .received = true,
                                 .entropy = true,
                                 .map_rows = 9,
                                 .map_columns = 140,
                                 .map_reduction = reduction};
    const WeightsSummary expected = reference::summarize_weights(in.q, in.k, in.options, request);
    const WeightsSummary got = summarize_weights(in.q, in.k, in.options, request);
    expect_summary(in, got, expected, 1e-5);
    EXPECT_TRUE(std::isnan(got.entropy.values<float>()[10]));
    EXPECT_TRUE(std::isnan(got.top_weights.values<float>()[30]));
    EXPECT_EQ(got.top_keys.values<std::int64_t>()[30], -1);
    EXPECT_TRUE(std::isnan(got.received.values<float>()[10]));
    EXPECT_FALSE(std::isnan(got.received.values<float>()[75]));
    EXPECT_FALSE(std::isnan(got.entropy.values<float>()[69]));
    EXPECT_LE(max_abs_difference(attention_rows(in.q, in.k, in.options, Stage::weights),
                                 reference::attention_rows(in.q, in.k, in.options, Stage::weights)),
              1e-5);
    RowState state(in.q);
    Tensor out = in.output(DType::f32);
    attention(in.q, in.k, in.v, in.options, out, state);
    expect_summary(in, summarize_weights(in.q, in.k, in.options, request, state), expected, 1e-5);
    EXPECT_LE(max_abs_difference(attention_rows(in.q, in.k, in.options, Stage::weights, {}, state),
                                 reference::attention_rows(in.q, in.k, in.options, Stage::weights)),
              1e-5);
  }
}

TEST(WeightsEmpty, NothingIsLegal) {
  const WeightsRequest all{.top_k = 2, .received = true, .entropy = true, .map_rows = 2, .map_columns = 2};
  for (const Dims& shape : {Dims{0, 2, 3, 4}, Dims{2, 0, 3, 4}, Dims{2, 2, 0, 4}}) {
    const Tensor q(DType::f32, shape);
    const WeightsSummary got = summarize_weights(q, q, {}, all);
    EXPECT_EQ(got.map.shape(), (Dims{shape[0], shape[1], 2, 2}));
    EXPECT_EQ(got.top_keys.shape(), (Dims{shape[0], shape[1], shape[2], 2}));
  }
  const Tensor q(DType::f32, {1, 1, 3, 4}), none(DType::f32, {1, 1, 0, 4});
  const WeightsSummary no_keys = summarize_weights(q, none, {}, all);
  EXPECT_EQ(values_of(no_keys.top_keys), std::vector<double>(6, -1));
  EXPECT_EQ(values_of(no_keys.map), std::vector<double>(4, 0));
  EXPECT_EQ(no_keys.received.shape(), (Dims{1, 1, 0}));
  const WeightsSummary nothing = summarize_weights(q, q, {}, {});
  for (const Tensor* tensor :
       {&nothing.top_keys, &nothing.top_weights, &nothing.received, &nothing.entropy, &nothing.map}) {
    EXPECT_EQ(tensor->count(), 0);
  }
}

TEST(WeightsRefusals, EachMistakeIsNamed) {
  const Tensor q(DType::f32, {1, 2, 3, 4});
  RowState state(q), other(Tensor(DType::f32, {1, 2, 5, 4})), wide(Tensor(DType::f64, {1, 2, 3, 4}));
  const auto ask = [&](const WeightsRequest& request, ConstRowStateView given = {}) {
    return summarize_weights(q, q, {}, request, given);
  };
  EXPECT_NO_THROW(ask({.top_k = 1}, state));
  EXPECT_REFUSES(ask({.top_k = -1}), "[summarize_weights] top_k is -1, expected 0 to 2147483647");
  EXPECT_REFUSES(ask({.top_k = std::int64_t{1} << 40}), "top_k is 1099511627776, expected 0 to 2147483647");
  EXPECT_REFUSES(ask({.map_rows = -2, .map_columns = 2}), "map_rows is -2, expected 0 to 2147483647");
  EXPECT_REFUSES(ask({.map_rows = 2, .map_columns = std::int64_t{1} << 40}), "map_columns is 1099511627776");
  EXPECT_REFUSES(ask({.map_rows = 4}), "a map of 4 rows and 0 columns has no cells");
  EXPECT_REFUSES(ask({}, {state.max, {}}), "row_state has max but no sum");
  EXPECT_REFUSES(ask({}, {{}, state.sum}), "row_state has sum but no max");
  EXPECT_REFUSES(ask({}, other), "row_state.max has shape (1, 2, 5), expected (1, 2, 3)");
  EXPECT_REFUSES(ask({}, wide), "row_state.max is f64, expected f32");
  EXPECT_REFUSES(summarize_weights(q, {}, {}, {}), "[summarize_weights] key is not given");
  EXPECT_REFUSES(summarize_weights(Tensor(DType::i64, {1, 2, 3, 4}), q, {}, {}),
                 "query holds i64 values, expected a floating type");
  EXPECT_REFUSES(reference::summarize_weights({}, q, {}, {}),
                 "[reference::summarize_weights] query is not given");
  EXPECT_REFUSES(attention_rows(q, q, {}, Stage::weights, {}, other),
                 "[attention_rows] row_state.max has shape (1, 2, 5), expected (1, 2, 3)");
}

}  // namespace
}  // namespace attend
