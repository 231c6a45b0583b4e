// Small random checkpoints of every family, and what transformers computes from them in float64
// (tools/golden/make_models.py).
#include <attend/isa.h>
#include <gtest/gtest.h>

#include <string>

#include "model/float64_transformer.h"
#include "model/golden_model.h"

namespace attend {
namespace {

class GoldenModels : public EachGoldenModel {};
INSTANTIATE_TEST_SUITE_P(Families, GoldenModels, testing::ValuesIn(kGoldenModels), golden_name);

TEST_P(GoldenModels, EveryLayerIsAsExactAsTransformers) {
  const Transformer transformer(config, tensors);
  for (const std::string& isa : available_isas()) {
    SCOPED_TRACE(isa);
    set_isa(isa);
    std::int64_t layers = 0;
    transformer.forward(batch(), [&](const LayerMoment& moment) {
      const std::string layer = std::to_string(moment.layer);
      const double theirs = values_of(golden.tensor("error." + layer))[0];
      // The embeddings are sums of three numbers and a norm; the floor is one unit in the last place of
      // numbers around 4.
      EXPECT_LE(max_abs_difference(moment.hidden, golden.tensor("hidden." + layer)), 1.5 * theirs + 4.8e-7)
          << "layer " << layer;
      ++layers;
    });
    EXPECT_EQ(layers, config.layer_count() + 1);
  }
  set_isa("");
}

// So that it can judge the others.
TEST_P(GoldenModels, TheFloat64TransformerIsTransformersInFloat64) {
  const Float64Transformer judge(config, tensors);
  const TokenBatch texts = batch();
  for (std::int64_t layers = 0; layers <= config.layer_count(); ++layers) {
    const std::vector<double> expected = values_of(golden.tensor("hidden." + std::to_string(layers)));
    std::size_t place = 0;
    for (std::int64_t text = 0; text < texts.texts(); ++text) {
      for (const double value : judge.forward(text_of(texts, text), {}, layers).values)
        ASSERT_NEAR(value, expected[place++], 1e-12) << "layer " << layers << ", text " << text;
    }
    EXPECT_EQ(place, expected.size());
  }
}

}  // namespace
}  // namespace attend
