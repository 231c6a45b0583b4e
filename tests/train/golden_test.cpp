// 200 steps of AdamW compared with PyTorch: from the same numbers and with the same batches, attend in f32
// stays as close to PyTorch's float64 as PyTorch's own f32 does. The files are made by
// tools/golden/make_training.py.
#include <attend/checkpoint.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "support/sanitized.h"
#include "train/optimiser.h"
#include "train/small_models.h"

namespace attend::train {
namespace {

constexpr std::int64_t kVocabulary = 13, kLength = 8;

struct Golden {
  std::string name;
  ModelShape shape;
};

Golden golden(const char* name, const auto& change) {
  Golden result{name, tiny(ModelKind::decoder)};
  result.shape.vocabulary = kVocabulary;
  result.shape.length = kLength;
  result.shape.hidden = 16;
  result.shape.inner = 24;
  change(result.shape);
  return result;
}

std::vector<Golden> all() {
  return {golden("gpt2", [](ModelShape&) {}),
          golden("bert",
                 [](ModelShape& s) {
                   s.kind = ModelKind::encoder;
                   s.norm_first = false;
                   s.tied = false;
                   s.feed_forward = FeedForwardKind::gelu;
                 }),
          golden("llama", [](ModelShape& s) {
            s.norm = NormKind::rms;
            s.feed_forward = FeedForwardKind::swiglu;
            s.positions = PositionKind::rotary;
          })};
}

// Which element of the parameters, as they lie in memory, each probe looks at.
std::vector<std::int64_t> places(const Checkpoint& file, Parameters& parameters) {
  std::vector<std::int64_t> in_order;
  std::istringstream names(file.metadata().at("order"));
  for (std::string name; std::getline(names, name);) {
    const int index = parameters.find(name);
    EXPECT_GE(index, 0) << name;
    copy(file.tensor("start." + name, parameters[index].shape), parameters.value(index));
    for (std::int64_t i = 0; i < element_count(parameters[index].shape); ++i) {
      in_order.push_back(parameters[index].offset + i);
    }
  }
  EXPECT_EQ(static_cast<std::int64_t>(in_order.size()), parameters.numbers());
  std::vector<std::int64_t> result;
  const ConstTensorView probes = file.tensor("probes");
  for (std::int64_t i = 0; i < probes.size(0); ++i) {
    result.push_back(in_order.at(static_cast<std::size_t>(probes.data<std::int64_t>()[i])));
  }
  return result;
}

Batch batch_of(const Checkpoint& file, std::int64_t which) {
  const ConstTensorView ids = file.tensor("ids").select(0, which),
                        targets = file.tensor("targets").select(0, which);
  Batch batch{.tokens = {.count = ids.size(0), .length = ids.size(1)}};
  for (std::int64_t i = 0; i < ids.count(); ++i) {
    batch.tokens.ids.push_back(static_cast<std::int32_t>(ids.data<std::int64_t>()[i]));
    batch.targets.push_back(static_cast<std::int32_t>(targets.data<std::int64_t>()[i]));
  }
  return batch;
}

class GoldenTraining : public testing::TestWithParam<Golden> {};
INSTANTIATE_TEST_SUITE_P(Models, GoldenTraining, testing::ValuesIn(all()),
                         [](const auto& one) { return one.param.name; });

// One step; the mean loss before it.
double step_of(Model& model, const Batch& batch, std::int64_t step) {
  const auto tokens = static_cast<double>(batch.targets.size());
  Parameters& parameters = model.parameters();
  parameters.clear_gradients();
  const double loss = model.learn(batch, 1 / tokens, 0).loss / tokens;
  adamw_step(parameters, {.epsilon = 1e-6, .decay = 0.1, .clip = 1}, 5e-4, step, gradient_norm(parameters));
  return loss;
}

// For all numbers but the bias of keys: without rotary positions it moves no weight, so its gradient is only
// rounding, which AdamW scales up to the size of a step.
double distance(Parameters& narrow, Parameters& wide, std::int64_t hidden) {
  double squares = 0;
  std::int64_t count = 0;
  for (int i = 0; i < narrow.count(); ++i) {
    const bool qkv_bias = narrow[i].name.ends_with(".qkv.bias");
    const float* const left = narrow.value(i).data<float>();
    const double* const right = wide.value(i).data<double>();
    for (std::int64_t j = 0; j < narrow.value(i).count(); ++j) {
      if (qkv_bias && j / hidden == 1) continue;
      squares += std::pow(static_cast<double>(left[j]) - right[j], 2);
      ++count;
    }
  }
  return std::sqrt(squares / static_cast<double>(count));
}

// attend in float64 is PyTorch in float64, and so stands for it where all parameters are compared.
TEST_P(GoldenTraining, StaysAsCloseAsPyTorchDoes) {
  const Checkpoint file =
      Checkpoint::open(std::string(ATTEND_GOLDEN) + "/training/" + GetParam().name + ".safetensors");
  const ConstTensorView losses = file.tensor("losses"), probed = file.tensor("probed");
  const ConstTensorView their_error = file.tensor("parameter_error"),
                        their_loss_error = file.tensor("loss_error");
  const std::int64_t batches = file.tensor("ids").size(0);
  const std::int64_t sequences = file.tensor("ids").size(1);
  SmallModel narrow(GetParam().shape, sequences), wide(GetParam().shape, sequences, DType::f64);
  places(file, narrow.parameters());
  const std::vector<std::int64_t> probes = places(file, wide.parameters());
  double worst = 0, loss_error = 0, most_of_theirs = 0;
  for (std::int64_t i = 0; i < (kSanitized ? 20 : losses.size(0)); ++i) {
    const Batch batch = batch_of(file, i % batches);
    const double expected = losses.data<double>()[i];
    EXPECT_NEAR(step_of(wide, batch, i + 1), expected, 1e-9) << "step " << i + 1;
    for (std::size_t p = 0; p < probes.size(); ++p) {
      EXPECT_NEAR(wide.parameters().values().data<double>()[probes[p]], probed.select(0, i).data<double>()[p],
                  1e-9)
          << "step " << i + 1;
    }
    // A single loss may be right by chance; the worst so far is not.
    loss_error = std::max(loss_error, std::abs(step_of(narrow, batch, i + 1) - expected));
    most_of_theirs = std::max(most_of_theirs, their_loss_error.data<double>()[i]);
    EXPECT_LE(loss_error, 1.5 * most_of_theirs) << "step " << i + 1;
    const double apart = distance(narrow.parameters(), wide.parameters(), GetParam().shape.hidden);
    EXPECT_LE(apart, 1.5 * their_error.data<double>()[i]) << "step " << i + 1;
    worst = std::max(worst, apart / their_error.data<double>()[i]);
  }
  RecordProperty("worst", std::to_string(worst));
  RecordProperty("loss", std::to_string(loss_error / most_of_theirs));
}

}  // namespace
}  // namespace attend::train
