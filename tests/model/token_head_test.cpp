// Heads that guess tokens, against transformers in float64 (tools/golden/make_token_heads.py).
#include <attend/token_head.h>
#include <gtest/gtest.h>

#include <iterator>
#include <string_view>
#include <vector>

#include "model/golden_model.h"

namespace attend {
namespace {

class TokenHeads : public EachGoldenModel {
 protected:
  const Checkpoint extra = Checkpoint::open(folder / "token_head.safetensors");

  // The encoder's tensors and those of the head, as one checkpoint would have them.
  TensorSource both() const {
    return {.file = "both",
            .contains =
                [this](const std::string& name) { return tensors.contains(name) || extra.contains(name); },
            .tensor =
                [this](const std::string& name) {
                  return extra.contains(name) ? extra.tensor(name) : tensors.tensor(name);
                }};
  }
};
std::vector<const char*> models_with_heads() {
  std::vector<const char*> names(std::begin(kGoldenModels), std::end(kGoldenModels));
  std::erase_if(names, [](std::string_view name) { return name == "t5-encoder"; });
  return names;
}
INSTANTIATE_TEST_SUITE_P(Families, TokenHeads, testing::ValuesIn(models_with_heads()), golden_name);

TEST_P(TokenHeads, LogitsAndTheirGradientsAreThoseOfTransformers) {
  const std::optional<TokenHead> head = TokenHead::find(config, both());
  ASSERT_TRUE(head);
  const std::vector<double> hidden = values_of(extra.tensor("golden.hidden"));
  const std::vector<double> logits = head->logits(hidden);
  const std::vector<double> expected = values_of(extra.tensor("golden.logits"));
  ASSERT_EQ(logits.size(), expected.size());
  for (std::size_t i = 0; i < logits.size(); ++i) EXPECT_NEAR(logits[i], expected[i], 1e-11);

  const auto token = static_cast<std::int32_t>(values_of(extra.tensor("golden.token"))[0]);
  const std::vector<double> gradient = head->gradient(hidden, token);
  const std::vector<double> slopes = values_of(extra.tensor("golden.gradient"));
  ASSERT_EQ(gradient.size(), slopes.size());
  for (std::size_t i = 0; i < slopes.size(); ++i) EXPECT_NEAR(gradient[i], slopes[i], 1e-11);
  EXPECT_THROW(head->gradient(hidden, -1), std::invalid_argument);
  EXPECT_THROW(head->gradient(hidden, static_cast<std::int32_t>(config.vocabulary_size)),
               std::invalid_argument);
}

TEST_P(TokenHeads, AnEncoderAloneHasNone) {
  // GPT-2's is the table of words, which every checkpoint of it has.
  EXPECT_EQ(TokenHead::find(config, tensors).has_value(), config.is_causal());
}

TEST_P(TokenHeads, RefusesOneThatDoesNotFit) {
  if (config.is_causal()) return;  // it has no tensors of its own
  ModelDescription other = config;
  other.hidden_size *= 2;
  EXPECT_THROW(TokenHead::find(other, both()), FileError);
}

}  // namespace
}  // namespace attend
