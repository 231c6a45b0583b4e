// Decoders of today, against transformers (tools/golden/make_decoders.py).
#include <attend/generation.h>
#include <attend/isa.h>
#include <attend/token_head.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "model/float64_transformer.h"
#include "model/golden_decoders.h"
#include "model/golden_model.h"
#include "model/letters_tokenizer.h"
#include "support/temporary_folder.h"

namespace attend {
namespace {

class GoldenDecoders : public EachGoldenDecoder {};
INSTANTIATE_TEST_SUITE_P(Families, GoldenDecoders, testing::ValuesIn(kGoldenDecoders),
                         [](const testing::TestParamInfo<const char*>& name) {
                           std::string text = name.param;
                           std::replace(text.begin(), text.end(), '-', '_');
                           return text;
                         });

// 1.5 times what transformers in float32 is off, in the root of the mean square and at most; the largest of
// some errors is a matter of luck, so there it may be one unit more in the last place of numbers of this
// size.
void expect_as_exact(ConstTensorView found, ConstTensorView expected, const std::vector<double>& theirs,
                     const std::string& what) {
  const std::vector<double> ours = values_of(found), truth = values_of(expected);
  ASSERT_EQ(ours.size(), truth.size());
  double largest = 0, largest_error = 0, squares = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const double error = difference(ours[i], truth[i]);
    largest = std::max(largest, std::abs(truth[i]));
    largest_error = std::max(largest_error, error);
    squares += error * error;
  }
  const double unit = std::exp2(std::ceil(std::log2(largest)) - 23);
  EXPECT_LE(largest_error, 1.5 * theirs[0] + unit) << what;
  EXPECT_LE(std::sqrt(squares / static_cast<double>(ours.size())), 1.5 * theirs[1] + unit / 64) << what;
}

TEST_P(GoldenDecoders, EveryLayerIsAsExactAsTransformers) {
  const Transformer transformer(config, tensors);
  for (const std::string& isa : available_isas()) {
    SCOPED_TRACE(isa);
    set_isa(isa);
    std::int64_t layers = 0;
    transformer.forward(texts(), [&](const LayerMoment& moment) {
      const std::string layer = std::to_string(moment.layer);
      expect_as_exact(moment.hidden, golden.tensor("hidden." + layer),
                      values_of(golden.tensor("error." + layer)), "layer " + layer);
      ++layers;
    });
    EXPECT_EQ(layers, config.layer_count() + 1);
  }
  set_isa("");
}

TEST_P(GoldenDecoders, TheFloat64TransformerIsTransformersInFloat64) {
  const Float64Transformer judge(config, tensors);
  const TokenBatch all = texts();
  for (std::int64_t layers = 0; layers <= config.layer_count(); ++layers) {
    const std::vector<double> expected = values_of(golden.tensor("hidden." + std::to_string(layers)));
    std::size_t place = 0;
    for (std::int64_t text = 0; text < all.texts(); ++text) {
      for (const double value : judge.forward(text_of(all, text), {}, layers).values)
        ASSERT_NEAR(value, expected[place++], 1e-11) << "layer " << layers << ", text " << text;
    }
    EXPECT_EQ(place, expected.size());
  }
}

TEST_P(GoldenDecoders, LogitsAreThoseOfTransformers) {
  if (!config.is_causal()) return;
  const std::optional<TokenHead> head = TokenHead::find(config, tensors);
  ASSERT_TRUE(head);
  const TokenBatch all = texts();
  const std::vector<double> expected = values_of(golden.tensor("logits"));
  const std::vector<double> hidden =
      values_of(golden.tensor("hidden." + std::to_string(config.layer_count())));
  const auto e = static_cast<std::size_t>(config.hidden_size);
  std::size_t place = 0;
  for (std::int64_t text = 0; text < all.texts(); ++text) {
    const std::size_t last = static_cast<std::size_t>(all.ends[static_cast<std::size_t>(text) + 1]) - 1;
    const std::vector<double> row(hidden.begin() + static_cast<std::ptrdiff_t>(last * e),
                                  hidden.begin() + static_cast<std::ptrdiff_t>((last + 1) * e));
    const std::vector<double> logits = head->logits(row);
    for (const double logit : logits) ASSERT_NEAR(logit, expected[place++], 1e-11);
    // The gradient of one of them, by differences.
    const std::vector<double> gradient = head->gradient(row, 7);
    for (const std::size_t j : {std::size_t{0}, e - 1}) {
      std::vector<double> up = row, down = row;
      up[j] += 1e-5;
      down[j] -= 1e-5;
      EXPECT_NEAR(gradient[j], (head->logits(up)[7] - head->logits(down)[7]) / 2e-5, 1e-8);
    }
  }
  EXPECT_EQ(place, expected.size());
}

// The most probable next token of each text, as it is read whole and beside the others.
std::vector<std::int32_t> next_tokens(const Transformer& transformer, const TokenHead& output,
                                      const std::vector<std::vector<std::int32_t>>& texts) {
  TokenBatch batch;
  for (const auto& text : texts) batch.add(text);
  const Tensor hidden = transformer.forward(batch);
  std::vector<std::int32_t> next;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const Tensor logits =
        output.next_logits(hidden.view().slice(0, batch.ends[i + 1] - 1, batch.ends[i + 1]));
    const auto values = logits.values<float>();
    next.push_back(
        static_cast<std::int32_t>(std::max_element(values.begin(), values.end()) - values.begin()));
  }
  return next;
}

void expect_same_text(const Transformer& transformer, const TokenHead& output,
                      std::vector<std::vector<std::int32_t>> texts,
                      const std::vector<std::vector<std::int32_t>>& expected) {
  for (std::size_t step = 0; step < expected.front().size(); ++step) {
    const std::vector<std::int32_t> next = next_tokens(transformer, output, texts);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      ASSERT_EQ(next[i], expected[i][step]) << "text " << i << ", step " << step;
      texts[i].push_back(next[i]);
    }
  }
}

TEST_P(GoldenDecoders, WritesWithoutACacheWhatTransformersWrites) {
  if (!config.is_causal()) return;
  const Transformer transformer(config, tensors);
  const TokenHead output = TokenHead::find(config, tensors)->for_writing();
  const auto all = prompts();
  std::vector<std::vector<std::int32_t>> expected;
  for (std::size_t i = 0; i < all.size(); ++i) expected.push_back(written("no_cache", i));
  expect_same_text(transformer, output, all, expected);                      // five at a time
  expect_same_text(transformer, output, {all.front()}, {expected.front()});  // and one
  if (!golden.contains("written.batch")) return;
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(written("batch", i), expected[i]);
}

TEST_P(GoldenDecoders, WritesOverACacheWhatTransformersWrites) {
  if (!config.is_causal()) return;
  const TemporaryFolder copy;
  for (const char* const name : {"config.json", "model.safetensors"})
    std::filesystem::copy_file(folder / name, copy.path() / name);
  copy.write("tokenizer.json", letters());
  Generator generator(TextModel::load(copy.path().string()));
  // Where transformers leaves old keys as they were rotated for a shorter text, ours are those of no cache.
  const std::string how = golden.contains("written.cache") ? "cache" : "no_cache";
  const auto all = prompts();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::vector<std::int32_t> expected = written(how, i);
    const Generated found = generator.generate(all[i], {.max_tokens = std::ssize(expected),
                                                        .sampling = {.temperature = 0},
                                                        .ignore_end = true,
                                                        .log_probabilities = true});
    ASSERT_EQ(found.tokens.size(), expected.size());
    for (std::size_t t = 0; t < expected.size(); ++t)
      ASSERT_EQ(found.tokens[t].id, expected[t]) << "prompt " << i << ", token " << t;
  }
  // Its logits are capped as the model caps them.
  const TokenBatch some = texts();
  const double theirs = values_of(golden.tensor("logits.error"))[0];
  for (std::int64_t text = 0; text < some.texts(); ++text) {
    generator.clear();
    const Tensor logits = generator.read(text_of(some, text));
    EXPECT_LE(max_abs_difference(logits, copy_of(golden.tensor("logits").select(0, text))),
              1.5 * theirs + 4.8e-7);
  }
}

}  // namespace
}  // namespace attend
