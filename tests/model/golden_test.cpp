// Small random checkpoints of every family, and what transformers computes from them in float64
// (tools/golden/make_models.py).
#include <attend/checkpoint.h>
#include <attend/encoder.h>
#include <attend/isa.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "support/compare.h"

namespace attend {
namespace {

class GoldenModels : public testing::TestWithParam<const char*> {};

TEST_P(GoldenModels, EveryLayerIsAsExactAsTransformers) {
  const std::filesystem::path folder = std::filesystem::path(ATTEND_GOLDEN_MODELS) / GetParam();
  const Encoder encoder(read_model_config(folder / "config.json"), tensors_of(Checkpoint::open(folder)));
  const Checkpoint golden = Checkpoint::open(folder / "golden.safetensors");

  TokenBatch batch;
  for (const double id : values_of(golden.tensor("ids"))) batch.ids.push_back(static_cast<std::int32_t>(id));
  batch.ends.clear();
  for (const double end : values_of(golden.tensor("ends")))
    batch.ends.push_back(static_cast<std::int64_t>(end));

  for (const std::string& isa : available_isas()) {
    SCOPED_TRACE(isa);
    set_isa(isa);
    std::int64_t layers = 0;
    encoder.forward(batch, [&](const LayerMoment& moment) {
      const std::string layer = std::to_string(moment.layer);
      const double theirs = values_of(golden.tensor("error." + layer))[0];
      // The embeddings are sums of three numbers and a norm; the floor is one unit in the last place of
      // numbers around 4.
      EXPECT_LE(max_abs_difference(moment.hidden, golden.tensor("hidden." + layer)), 1.5 * theirs + 4.8e-7)
          << "layer " << layer;
      ++layers;
    });
    EXPECT_EQ(layers, 3);
  }
  set_isa("");
}

INSTANTIATE_TEST_SUITE_P(Families, GoldenModels,
                         testing::Values("bert", "bert-relu", "roberta", "xlm-roberta", "distilbert", "mpnet",
                                         "gpt2"),
                         [](const auto& name) {
                           std::string text = name.param;
                           std::erase(text, '-');
                           return text;
                         });

}  // namespace
}  // namespace attend
