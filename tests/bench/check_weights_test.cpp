// As in check_test.cpp: wrong answers are planted, and must be found.
#include "bench/check_weights.h"

#include <gtest/gtest.h>

#include "bench/check.h"

namespace attend::bench {
namespace {

constexpr WeightsRequest kAll{.top_k = 3, .received = true, .entropy = true, .map_rows = 5, .map_columns = 7};

struct CheckWeights : testing::Test {
  Inputs inputs = random_inputs({2, 4, 2, 40, 40, 8}, DType::f32);
  RowState state{inputs.q};
  WeightsSummary summary;

  CheckWeights() {
    Tensor out(DType::f32, inputs.q.shape());
    attention(inputs.q, inputs.k, inputs.v, {}, out, state);
    summary = summarize_weights(inputs.q, inputs.k, {}, kAll, state);
  }
  double check() const { return check_weights("x", inputs, kAll, summary, state); }
};

TEST_F(CheckWeights, RightAnswersPass) {
  EXPECT_LE(check(), 1e-5);
  for (const MapReduction reduction : {MapReduction::mean, MapReduction::max}) {
    const WeightsRequest request{.map_rows = 40, .map_columns = 3, .map_reduction = reduction};
    const WeightsSummary map = summarize_weights(inputs.q, inputs.k, {}, request, state);
    EXPECT_LE(check_weights("x", inputs, request, map, state), 1e-5);
  }
}

TEST_F(CheckWeights, WrongWeightsAreFound) {
  for (Tensor* const part : {&summary.top_weights, &summary.received, &summary.entropy, &summary.map}) {
    for (float& value : part->values<float>()) value += 0.01f;
    EXPECT_THROW(check(), WrongAnswer);
    for (float& value : part->values<float>()) value -= 0.01f;
  }
}

TEST_F(CheckWeights, WrongKeysAreFound) {
  for (std::int64_t& key : summary.top_keys.values<std::int64_t>()) key = (key + 1) % 40;
  EXPECT_THROW(check(), WrongAnswer);
  for (std::int64_t& key : summary.top_keys.values<std::int64_t>()) key = 40;
  EXPECT_THROW(check(), WrongAnswer);
}

TEST_F(CheckWeights, AWrongRowStateIsFound) {
  for (float& value : state.sum.values<float>()) value *= 1.001f;
  EXPECT_THROW(check(), WrongAnswer);
}

}  // namespace
}  // namespace attend::bench
