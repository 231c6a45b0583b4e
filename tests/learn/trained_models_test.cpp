// The encoder that explains models reads every model that `attend train` writes, and computes what the model
// that learned computes: vectors, weights and gradients.
#include <attend/model_files.h>
#include <attend/token_head.h>
#include <attend/transformer.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>

#include "base/random.h"
#include "learn/model_folder.h"
#include "learn/task.h"
#include "support/compare.h"
#include "support/temporary_folder.h"

namespace attend::learn {
namespace {

using model::FeedForwardKind;
using model::ModelKind;

struct Shape {
  std::string name;
  model::OwnModel shape;
};

// Every kind with every pair of a norm, its place, a feed-forward part and positions.
std::vector<Shape> all_shapes() {
  std::vector<Shape> list;
  for (const ModelKind kind : {ModelKind::encoder, ModelKind::decoder, ModelKind::encoder_decoder}) {
    for (int choice = 0; choice < 2 * 2 * 3 * 5; ++choice) {
      if ((choice + choice / 2 + choice / 4 + choice / 12) % 2 != 0) continue;
      model::OwnModel shape{.kind = kind,
                            .vocabulary = 11,
                            .length = 6,
                            .layers = 2,
                            .hidden = 8,
                            .heads = 2,
                            .inner = 12,
                            .norm_first = choice % 2 == 0,
                            .norm = static_cast<NormKind>(choice / 2 % 2),
                            .feed_forward = static_cast<FeedForwardKind>(choice / 4 % 3),
                            .positions = static_cast<PositionKind>(choice / 12)};
      shape.tied = choice % 3 != 0;
      shape.scaled = choice % 5 != 0;
      list.push_back(
          {"kind" + std::to_string(static_cast<int>(kind)) + "choice" + std::to_string(choice), shape});
    }
  }
  return list;
}

class TrainedModels : public testing::TestWithParam<Shape> {
 protected:
  TrainedModels() : model_(model::describe(GetParam().shape), {}) {
    model_.parameters().initialise(3);
    const TensorView values = model_.parameters().values();
    for (std::int64_t i = 0; i < values.count(); ++i) {
      values.data<float>()[i] += static_cast<float>(0.1 * normal_at(4, static_cast<std::uint64_t>(i)));
    }
    save_model_folder(folder_.path(), model_, byte_tokenizer());
    const ModelFiles files = find_model(folder_.path().string());
    config_ = read_model_description(files.config);
    tensors_ = tensors_of(Checkpoint::open(files.weights));

    const std::int64_t n = two() ? 5 : 6;
    batch_.tokens = {.count = 1, .length = n, .ids = ids(n, 1)};
    batch_.targets.assign(static_cast<std::size_t>(n), kNoTarget);
    if (two()) {
      batch_.source = {.count = 1, .length = 6, .ids = ids(6, 2)};
      joint_.add(batch_.source.ids, std::vector<std::int32_t>(6, 0));
      joint_.ids.insert(joint_.ids.end(), batch_.tokens.ids.begin(), batch_.tokens.ids.end());
      joint_.types.resize(joint_.ids.size(), 1);
      joint_.ends.back() = joint_.tokens();
    } else {
      joint_.add(batch_.tokens.ids);
    }
  }

  static bool two() { return GetParam().shape.kind == ModelKind::encoder_decoder; }
  static std::vector<std::int32_t> ids(std::int64_t n, std::uint64_t seed) {
    std::vector<std::int32_t> list;
    for (std::int64_t i = 0; i < n; ++i)
      list.push_back(static_cast<std::int32_t>(random_bits(seed, static_cast<std::uint64_t>(i)) % 11));
    return list;
  }

  TemporaryFolder folder_;
  train::Model model_;
  ModelDescription config_;
  TensorSource tensors_;
  train::Batch batch_;
  TokenBatch joint_;  // the same, with the source in front
};
INSTANTIATE_TEST_SUITE_P(Shapes, TrainedModels, testing::ValuesIn(all_shapes()),
                         [](const auto& shape) { return shape.param.name; });

TEST_P(TrainedModels, GuessWhatTheyLearned) {
  if (config_.family == "bert") return;  // which is stored without its output layer: model_folder_test.cpp
  const Transformer transformer(config_, tensors_);
  const auto head = TokenHead::find(config_, tensors_);
  ASSERT_TRUE(head);
  const Tensor hidden = copy_of(transformer.forward(joint_), DType::f64);
  const std::int64_t first = joint_.tokens() - batch_.tokens.length;
  for (std::int64_t row = 0; row < batch_.tokens.length; ++row) {
    const std::span<const double> all = hidden.values<double>();
    const std::vector<double> logits =
        head->logits(all.subspan(static_cast<std::size_t>((first + row) * 8), 8));
    const Tensor expected = model_.logits(batch_, row);
    for (std::size_t i = 0; i < logits.size(); ++i)
      EXPECT_NEAR(logits[i], static_cast<double>(expected.values<float>()[i]), 3e-5) << row;
  }
}

// Each attention map of one model is part of the other's, in its place on the map of source and target.
TEST_P(TrainedModels, LookWhereTheyLooked) {
  std::map<std::int64_t, Tensor> expected;
  model_.evaluate(batch_, [&](const LayerMoment& moment) {
    expected[moment.layer] = attention_rows(moment.q, moment.k, moment.options, Stage::weights);
  });
  const std::int64_t split = joint_.tokens() - batch_.tokens.length;
  std::size_t seen = 0;
  Transformer(config_, tensors_).forward(joint_, [&](const LayerMoment& moment) {
    if (moment.layer == 0) return;
    const Tensor weights =
        attention_rows(moment.q, moment.k, moment.options, Stage::weights, {}, moment.row_state);
    const LayerKind kind = config_.layer_kind(moment.layer);
    const std::int64_t row0 = kind == LayerKind::encoder ? 0 : split,
                       column0 = kind == LayerKind::decoder ? split : 0;
    const auto found = expected.find(moment.layer);
    ASSERT_NE(found, expected.end()) << config_.layer_name(moment.layer);
    const ConstTensorView theirs = found->second;
    EXPECT_LT(
        max_abs_difference(
            weights.view().slice(2, row0, row0 + theirs.size(2)).slice(3, column0, column0 + theirs.size(3)),
            theirs),
        1e-5)
        << config_.layer_name(moment.layer);
    const std::span<const float> all = weights.values<float>();
    EXPECT_NEAR(std::accumulate(all.begin(), all.end(), 0.0), static_cast<double>(2 * theirs.size(2)), 1e-4)
        << "nothing else has weight";
    ++seen;
  });
  EXPECT_EQ(seen, expected.size());
}

// The gradient says how a number changes with a head, and matches what happens when the head is scaled up.
TEST_P(TrainedModels, HaveTheGradientsOfWhatTheyCompute) {
  const Transformer transformer(config_, tensors_);
  Tensor d_out(DType::f32, {joint_.tokens(), 8});
  for (std::size_t i = 0; i < d_out.values<float>().size(); ++i)
    d_out.values<float>()[i] = static_cast<float>(normal_at(9, i));
  std::vector<Tensor> attended;
  transformer.forward(joint_, [&](const LayerMoment& moment) {
    if (moment.layer > 0) attended.push_back(copy_of(moment.attended));
  });
  const PassGradients gradients = transformer.gradients(joint_, d_out);
  ASSERT_EQ(gradients.attended.size(), attended.size());
  const auto number = [&](std::int64_t layer, std::int64_t head, double scale) {
    const Tensor out = transformer.forward(joint_, {}, {}, {.heads = {{layer, head, scale}}});
    double sum = 0;
    for (std::size_t i = 0; i < out.values<float>().size(); ++i)
      sum += static_cast<double>(out.values<float>()[i]) * static_cast<double>(d_out.values<float>()[i]);
    return sum;
  };
  for (std::int64_t layer = 1; layer <= config_.layer_count(); ++layer) {
    for (std::int64_t head = 1; head <= 2; ++head) {
      const Tensor& values = attended[static_cast<std::size_t>(layer - 1)];
      const Tensor& d = gradients.attended[static_cast<std::size_t>(layer - 1)];
      double slope = 0;
      for (std::int64_t i = 0; i < values.count(); ++i) {
        if (i / 4 % 2 != head - 1) continue;
        slope += static_cast<double>(values.values<float>()[static_cast<std::size_t>(i)]) *
                 static_cast<double>(d.values<float>()[static_cast<std::size_t>(i)]);
      }
      constexpr double kStep = 4e-3;
      const double expected = (number(layer, head, 1 + kStep) - number(layer, head, 1 - kStep)) / (2 * kStep);
      EXPECT_NEAR(slope, expected, 4e-3 * (1 + std::abs(expected))) << layer << "." << head;
    }
  }
}

}  // namespace
}  // namespace attend::learn
