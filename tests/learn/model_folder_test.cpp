// A trained model that is stored as a BERT gives the same results when it is read as a BERT.
#include "learn/model_folder.h"

#include <attend/matmul.h>
#include <attend/model_files.h>
#include <attend/transformer.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "learn/task.h"
#include "support/compare.h"
#include "support/temporary_folder.h"

namespace attend::learn {
namespace {

TEST(ModelFolder, ABertIsReadAsItWasLearned) {
  const model::OwnModel shape{.kind = model::ModelKind::encoder,
                              .vocabulary = 257,
                              .length = 9,
                              .layers = 2,
                              .hidden = 16,
                              .heads = 2,
                              .inner = 24,
                              .norm_first = false,
                              .feed_forward = model::FeedForwardKind::gelu,
                              .epsilon = 1e-12};
  train::Model model(model::describe(shape), {});
  model.parameters().initialise(3);
  // Biases and norms away from their initial values.
  const TensorView values = model.parameters().values();
  for (std::int64_t i = 0; i < values.count(); ++i) {
    values.data<float>()[i] += static_cast<float>(0.1 * normal_at(4, static_cast<std::uint64_t>(i)));
  }
  const TemporaryFolder folder;
  save_model_folder(folder.path(), model, byte_tokenizer(true));

  const ModelFiles files = find_model(folder.path().string());
  const Transformer transformer(read_model_description(files.config),
                                tensors_of(Checkpoint::open(files.weights)));
  std::vector<std::int32_t> ids;
  for (std::uint64_t i = 0; i < 9; ++i) ids.push_back(static_cast<std::int32_t>(random_bits(1, i) % 257));
  TokenBatch tokens;
  tokens.add(ids);
  const Tensor hidden = transformer.forward(tokens);
  Tensor logits(DType::f32, {9, 257});
  matmul(hidden, model.parameters().value(0).transposed(0, 1), logits);

  train::Batch batch{.tokens = {.count = 1, .length = 9, .ids = ids}};
  batch.targets.assign(9, kNoTarget);
  for (std::int64_t row = 0; row < 9; ++row) {
    EXPECT_LT(max_abs_difference(logits.view().slice(0, row, row + 1), model.logits(batch, row)), 2e-5)
        << row;
  }
}

TEST(ModelFolder, SaysWhatItIs) {
  const auto json_of = [](const model::OwnModel& shape) { return config_json(model::describe(shape)); };
  model::OwnModel shape{.vocabulary = 5, .length = 4};
  EXPECT_NE(json_of(shape).find("\"gpt2\""), std::string::npos);
  shape.positions = PositionKind::rotary;
  EXPECT_NE(json_of(shape).find("\"attend\""), std::string::npos);
  shape = {.vocabulary = 5, .mixer = model::MixerKind::gru, .length = 4};
  EXPECT_NE(json_of(shape).find("\"mixer\": \"gru\""), std::string::npos);
  shape = {.kind = model::ModelKind::encoder, .vocabulary = 5, .length = 4, .norm_first = false};
  EXPECT_NE(json_of(shape).find("\"bert\""), std::string::npos);
}

}  // namespace
}  // namespace attend::learn
