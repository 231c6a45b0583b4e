// T5 against transformers: small checkpoints with an encoder and a decoder (tools/golden/make_encoders.py).
#include <attend/generation.h>
#include <attend/generator_batch.h>
#include <attend/isa.h>
#include <attend/text_model.h>
#include <gtest/gtest.h>

#include <cmath>

#include "model/float64_transformer.h"
#include "model/golden_model.h"
#include "support/random.h"
#include "support/refuses.h"

namespace attend {
namespace {

constexpr std::int64_t kPairCount = 3;

class T5Pairs : public testing::TestWithParam<const char*> {
 protected:
  const std::filesystem::path folder = std::filesystem::path(ATTEND_GOLDEN_MODELS) / GetParam();
  const ModelDescription config = read_model_description(folder / "config.json");
  const TensorSource tensors = tensors_of(Checkpoint::open(folder));
  const Checkpoint golden = Checkpoint::open(folder / "golden.safetensors");

  std::vector<std::int32_t> ids(const std::string& name, std::int64_t pair) const {
    std::vector<std::int32_t> list;
    for (const double id : values_of(golden.tensor(name + "." + std::to_string(pair))))
      list.push_back(static_cast<std::int32_t>(id));
    return list;
  }
  TokenBatch batch(std::int64_t pair) const {
    std::vector<std::int32_t> all = ids("source", pair);
    std::vector<std::int32_t> types(all.size(), 0);
    for (const std::int32_t id : ids("target", pair)) {
      all.push_back(id);
      types.push_back(1);
    }
    TokenBatch batch;
    batch.add(all, types);
    return batch;
  }
};
INSTANTIATE_TEST_SUITE_P(Families, T5Pairs, testing::Values("t5", "t5-gated"), golden_name);

TEST_P(T5Pairs, EveryLayerIsAsExactAsTransformers) {
  const Transformer transformer(config, tensors);
  for (const std::string& isa : available_isas()) {
    SCOPED_TRACE(isa);
    set_isa(isa);
    for (std::int64_t pair = 0; pair < kPairCount; ++pair) {
      transformer.forward(batch(pair), [&](const LayerMoment& moment) {
        const std::string layer = std::to_string(moment.layer);
        const double theirs = values_of(golden.tensor("error." + layer))[0];
        EXPECT_LE(
            max_abs_difference(moment.hidden, golden.tensor("hidden." + std::to_string(pair) + "." + layer)),
            1.5 * theirs + 4.8e-7)
            << "pair " << pair << ", layer " << layer;
      });
    }
  }
  set_isa("");
}

TEST_P(T5Pairs, TheFloat64TransformerIsTransformersInFloat64) {
  const Float64Transformer judge(config, tensors);
  for (std::int64_t pair = 0; pair < kPairCount; ++pair) {
    const std::int64_t source = std::ssize(ids("source", pair));
    for (std::int64_t layers = 0; layers <= config.layer_count(); ++layers) {
      const std::vector<double> expected =
          values_of(golden.tensor("hidden." + std::to_string(pair) + "." + std::to_string(layers)));
      const Matrix found = judge.forward(batch(pair).ids, {}, layers, source);
      for (std::size_t i = 0; i < expected.size(); ++i)
        ASSERT_NEAR(found.values[i], expected[i], 1e-12) << "pair " << pair << ", layer " << layers;
    }
  }
}

TEST_P(T5Pairs, LogitsAreThoseOfTransformers) {
  const std::optional<TokenHead> head = TokenHead::find(config, tensors);
  ASSERT_TRUE(head);
  for (std::int64_t pair = 0; pair < kPairCount; ++pair) {
    const std::vector<double> states = values_of(
        golden.tensor("hidden." + std::to_string(pair) + "." + std::to_string(config.layer_count())));
    const std::span<const double> last = std::span(states).last(16);
    const std::vector<double> logits = head->logits(last),
                              expected = values_of(golden.tensor("logits." + std::to_string(pair)));
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(logits[i], expected[i], 1e-11);
    std::vector<double> moved(last.begin(), last.end());
    moved[3] += 1e-5;
    EXPECT_NEAR(head->gradient(last, 17)[3], (head->logits(moved)[17] - logits[17]) / 1e-5, 1e-6);
  }
}

// By differences of the transformer in float64, whose layers are the encoder's, the decoder's and those that
// look at the source.
TEST_P(T5Pairs, GradientsAgreeWithDifferences) {
  const Transformer transformer(config, tensors);
  const Float64Transformer judge(config, tensors);
  const TokenBatch texts = batch(0);
  const std::int64_t source = std::ssize(ids("source", 0)), e = config.hidden_size;
  const Tensor d_out = random_normal({texts.tokens(), e}, DType::f32, 4);
  const PassGradients found = transformer.gradients(texts, d_out);
  const auto loss = [&](const PassHooks& hooks) {
    const Matrix out = judge.forward(texts.ids, hooks, {}, source);
    double sum = 0;
    for (std::size_t i = 0; i < out.values.size(); ++i)
      sum += out.values[i] * static_cast<double>(d_out.values<float>()[i]);
    return sum;
  };
  std::int64_t place = 0, compared = 0;
  for (std::int64_t layer = 0; layer <= config.layer_count(); ++layer) {
    const Tensor& gradient =
        layer == 0 ? found.embeddings : found.attended[static_cast<std::size_t>(layer) - 1];
    const std::int64_t columns = gradient.count() / texts.tokens();
    for (std::int64_t row = 0; row < texts.tokens(); ++row) {
      for (std::int64_t column = 0; column < columns; ++column) {
        if (place++ % 7 != 0) continue;
        const auto at = [&](double step) {
          return loss({.embeddings =
                           [&](Matrix& x) {
                             if (layer == 0) x.at(row, column) += step;
                           },
                       .attended =
                           [&](std::int64_t of, Matrix& x) {
                             if (of == layer) x.at(row, column) += step;
                           }});
        };
        const double slope = (at(1e-4) - at(-1e-4)) / 2e-4;
        const double value = gradient.values<float>()[static_cast<std::size_t>(row * columns + column)];
        EXPECT_NEAR(value, slope, 2e-4 * std::abs(slope) + 1e-4) << layer << ' ' << row << ' ' << column;
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 200);
}

TEST_P(T5Pairs, ReadsOverACacheWhatItReadsAtOnce) {
  const Transformer transformer(config, tensors);
  const std::vector<std::int32_t> source = ids("source", 1), target = ids("target", 1);
  const Tensor whole = transformer.forward(batch(1));
  TransformerCache cache(config);
  transformer.read_source(source, cache);
  for (std::size_t at = 0; at < target.size();) {
    const std::size_t count = at == 1 ? 4 : 1;
    const Tensor part = transformer.read(std::span(target).subspan(at, count), cache);
    const std::int64_t first = std::ssize(source) + static_cast<std::int64_t>(at);
    EXPECT_LT(max_abs_difference(
                  part, copy_of(whole.view().slice(0, first, first + static_cast<std::int64_t>(count)))),
              1e-5)
        << at;
    at += count;
  }
}

// Token for token those of transformers in float32: over the cache, and from the start for each.
TEST_P(T5Pairs, WritesWhatTransformersWrites) {
  const TextModel model = TextModel::load(folder.string());
  Generator generator(model);
  for (std::int64_t pair = 0; pair < kPairCount; ++pair) {
    const std::vector<std::int32_t> source = ids("source", pair), expected = ids("written", pair);
    const Generated written =
        generator.generate(source, {.max_tokens = std::ssize(expected), .sampling = {.temperature = 0}});
    std::vector<std::int32_t> found;
    for (const GeneratedToken& token : written.tokens) found.push_back(token.id);
    EXPECT_EQ(found, expected) << "pair " << pair;

    std::vector<std::int32_t> so_far{*config.start_token};
    for (const std::int32_t next : expected) {
      generator.clear();
      const Tensor logits = generator.read(so_far);
      EXPECT_EQ(sample(logits, {.temperature = 0}, 0), next) << "pair " << pair;
      so_far.push_back(next);
    }
  }
  // All at once: the same, each after its own source.
  GeneratorBatch batch(generator);
  for (std::int64_t pair = 0; pair < kPairCount; ++pair)
    batch.add(ids("source", pair),
              {.max_tokens = std::ssize(ids("written", pair)), .sampling = {.temperature = 0}});
  while (batch.size() > 0) {
    for (const GeneratorBatch::Ended& ended : batch.step()) {
      std::vector<std::int32_t> found;
      for (const GeneratedToken& token : ended.written.tokens) found.push_back(token.id);
      EXPECT_EQ(found, ids("written", ended.id - 1));
    }
  }
  // The table of words is not large in a head that is scaled, and log-probabilities show it.
  generator.read_source(ids("source", 0));
  const std::vector<std::int32_t> target = ids("target", 0);
  const Tensor logits = generator.read(target);
  const std::vector<double> expected = values_of(golden.tensor("logits.0"));
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(logits.values<float>()[i], expected[i], 2e-5);
}

TEST_P(T5Pairs, ATextIsASourceThatEndsAndATargetAfterTheStartToken) {
  const TextModel model = TextModel::load(folder.string());
  const Encoding both = model.encode("the tree", "a b");
  const Encoding source = model.encode("the tree");
  const std::vector<std::int32_t> bare = model.tokenizer().encode("a b", {.add_special_tokens = false}).ids;
  std::vector<std::int32_t> expected = source.ids;
  EXPECT_EQ(source.ids.back(), 1);  // </s>
  expected.push_back(0);
  expected.insert(expected.end(), bare.begin(), bare.end());
  EXPECT_EQ(both.ids, expected);
  EXPECT_EQ(std::count(both.type_ids.begin(), both.type_ids.end(), 0), std::ssize(source.ids));
  // A prompt is such a source.
  Generator generator(model);
  const GenerateOptions greedy{.max_tokens = 5, .sampling = {.temperature = 0}};
  const Generated by_text = generator.generate("the tree", greedy),
                  by_ids = generator.generate(source.ids, greedy);
  EXPECT_EQ(by_text.text, by_ids.text);
  ASSERT_FALSE(by_text.tokens.empty());
  EXPECT_EQ(by_text.tokens[0].id, by_ids.tokens[0].id);
}

TEST(T5Encoder, AVectorIsTheMeanOfWhatLeavesIt) {
  const std::filesystem::path folder = std::filesystem::path(ATTEND_GOLDEN_MODELS) / "t5-encoder";
  const TextModel model = TextModel::load(folder.string());
  const Checkpoint golden = Checkpoint::open(folder / "golden.safetensors");
  const std::string_view text = "the bird on a tree";
  const Encoding encoding = model.encode(text);
  const std::vector<double> ids = values_of(golden.tensor("embedding.ids")),
                            expected = values_of(golden.tensor("embedding"));
  ASSERT_EQ(encoding.ids.size(), ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(encoding.ids[i], static_cast<std::int32_t>(ids[i]));
  const Tensor vector = model.embed(std::vector{text});
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(vector.values<float>()[i], expected[i], 2e-6);
  EXPECT_FALSE(model.token_head());
  EXPECT_THROW(Generator{model}, FileError);
}

}  // namespace
}  // namespace attend
