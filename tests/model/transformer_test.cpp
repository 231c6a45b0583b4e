#include <attend/transformer.h>

#include <attend/file_error.h>
#include <attend/threads.h>
#include <gtest/gtest.h>

#include <random>

#include "model/float64_transformer.h"
#include "model/random_checkpoint.h"
#include "support/compare.h"
#include "support/refuses.h"

namespace attend {
namespace {

std::vector<std::int32_t> random_text(std::int64_t length, int seed) {
  std::mt19937 random(static_cast<unsigned>(seed));
  std::vector<std::int32_t> ids(static_cast<std::size_t>(length));
  for (std::int32_t& id : ids) id = static_cast<std::int32_t>(random() % 50);
  return ids;
}

TokenBatch batch_of(const std::vector<std::vector<std::int32_t>>& texts) {
  TokenBatch batch;
  for (const auto& text : texts) batch.add(text);
  return batch;
}

class Families : public testing::TestWithParam<std::string> {};

TEST_P(Families, ATextHasTheSameBitsAloneInABatchAndOnAnyNumberOfThreads) {
  const ModelDescription config = description_named(GetParam());
  const RandomCheckpoint checkpoint(config);
  const Transformer transformer(config, checkpoint.source());
  std::vector<std::vector<std::int32_t>> texts;
  for (const int length : {5, 1, 68, 0, 17, 33}) texts.push_back(random_text(length, length));
  const Tensor together = transformer.forward(batch_of(texts));
  for (const int count : {1, 2, 3, 8}) {
    set_threads(count);
    EXPECT_TRUE(same_bits(transformer.forward(batch_of(texts)), together)) << count << " threads";
  }
  set_threads(0);
  std::int64_t begin = 0;
  for (const auto& text : texts) {
    const std::int64_t end = begin + static_cast<std::int64_t>(text.size());
    EXPECT_TRUE(
        same_bits(transformer.forward(batch_of({text})), copy_of(together.view().slice(0, begin, end))))
        << text.size();
    begin = end;
  }
}

TEST_P(Families, LayersAreShownWithWhatTheirWeightsNeed) {
  const ModelDescription config = description_named(GetParam());
  const RandomCheckpoint checkpoint(config);
  const Transformer transformer(config, checkpoint.source());
  const TokenBatch batch = batch_of({random_text(9, 1), random_text(14, 2)});
  std::int64_t next = 0;
  Tensor last_hidden;
  const Tensor out = transformer.forward(batch, [&](const LayerMoment& moment) {
    EXPECT_EQ(moment.layer, next++);
    EXPECT_EQ(moment.hidden.shape(), (Dims{23, 48}));
    last_hidden = copy_of(moment.hidden);
    if (moment.layer == 0) {
      EXPECT_FALSE(moment.q.given());
      return;
    }
    // Weights from the row state, times the values, are what was attended to.
    const RowSelection second{.sequences = {1}};
    const Tensor weights =
        attention_rows(moment.q, moment.k, moment.options, Stage::weights, second, moment.row_state);
    ASSERT_EQ(weights.shape(), (Dims{1, 4, 14, 14}));
    const std::int64_t size = moment.v.size(2), group = 4 / moment.v.size(1);
    for (std::int64_t head = 0; head < 4; ++head) {
      for (std::int64_t i = 0; i < 14; ++i) {
        for (std::int64_t d = 0; d < size; ++d) {
          double sum = 0;
          for (std::int64_t j = 0; j < 14; ++j) {
            sum +=
                weights.values<float>()[static_cast<std::size_t>((head * 14 + i) * 14 + j)] *
                moment.v.data<float>()[(9 + j) * moment.v.stride(0) + head / group * moment.v.stride(1) + d];
          }
          EXPECT_NEAR(moment.attended.data<float>()[((9 + i) * 4 + head) * size + d], sum, 1e-5);
        }
      }
    }
  });
  EXPECT_EQ(next, 3);
  EXPECT_TRUE(same_bits(out, last_hidden));
}

TEST_P(Families, StopsAfterTheLayerThatIsAskedFor) {
  const ModelDescription config = description_named(GetParam());
  const RandomCheckpoint checkpoint(config);
  const Transformer transformer(config, checkpoint.source());
  const TokenBatch batch = batch_of({random_text(9, 1), random_text(14, 2)});
  transformer.forward(batch, [&](const LayerMoment& moment) {
    EXPECT_TRUE(same_bits(transformer.forward(batch, {}, moment.layer), moment.hidden))
        << "layer " << moment.layer;
  });
  EXPECT_REFUSES(transformer.forward(batch, {}, 3),
                 "[model] layer 3 was asked for, but the layers are 0 to 2");
}

// Against a transformer as the papers write it, in float64.
TEST_P(Families, ComputesWhatItsDescriptionSays) {
  const ModelDescription config = description_named(GetParam());
  const RandomCheckpoint checkpoint(config);
  const Transformer transformer(config, checkpoint.source());
  const Float64Transformer judge(config, checkpoint.source());
  const auto text = random_text(11, 4);
  const Tensor found = transformer.forward(batch_of({random_text(5, 1), text}));
  const Matrix expected = judge.forward(text);
  for (std::int64_t i = 0; i < 11; ++i) {
    for (std::int64_t j = 0; j < 48; ++j)
      EXPECT_NEAR(found.values<float>()[static_cast<std::size_t>((5 + i) * 48 + j)], expected.at(i, j), 2e-5);
  }
}

// With a cache, three tokens at once and then one by one.
TEST_P(Families, ReadsWithACacheWhatItReadsAtOnce) {
  const ModelDescription config = description_named(GetParam());
  const RandomCheckpoint checkpoint(config);
  const Transformer transformer(config, checkpoint.source());
  if (!config.is_causal()) {
    EXPECT_REFUSES(TransformerCache{config}, "[generate] the tokens of this model see those after them");
    return;
  }
  const auto text = random_text(11, 4);
  const Tensor whole = transformer.forward(batch_of({text}));
  TransformerCache cache(config);
  if (config.rotation_changes(10, 11)) {
    const std::span all(text);
    transformer.read(all.first(10), cache);
    EXPECT_REFUSES(
        transformer.read(all.last(1), cache),
        "[generate] this model rotates a text of 11 tokens differently from one of 10: clear the cache");
    cache.clear();
    EXPECT_LT(max_abs_difference(transformer.read(text, cache), whole), 1e-5);
    return;
  }
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t count = at == 0 ? 3 : 1;
    const Tensor part = transformer.read(std::span(text).subspan(at, count), cache);
    const auto first = static_cast<std::int64_t>(at), last = static_cast<std::int64_t>(at + count);
    EXPECT_LT(max_abs_difference(part, copy_of(whole.view().slice(0, first, last))), 1e-5) << at;
    at += count;
  }
  EXPECT_EQ(cache.length(), 11);
  EXPECT_EQ(cache.layer(2).length(), 11);
  EXPECT_REFUSES(cache.layer(3), "[generate] layer is 3, expected 1 to 2");
  ModelDescription other = config;
  other.layers.pop_back();
  TransformerCache another(other);
  EXPECT_REFUSES(transformer.read(text, another), "[generate] the cache was made for another model");
  cache.truncate(4);
  const Tensor again = transformer.read(std::span(text).subspan(4, 1), cache);
  EXPECT_LT(max_abs_difference(again, copy_of(whole.view().slice(0, 4, 5))), 1e-5);
}

TEST_P(Families, SixteenBitWeightsAreThoseNumbers) {
  const ModelDescription config = description_named(GetParam());
  const RandomCheckpoint narrow(config, "", DType::bf16);
  RandomCheckpoint wide(config);
  for (auto& [name, tensor] : wide.tensors) tensor = copy_of(narrow.tensors.at(name), DType::f32);
  const TokenBatch batch = batch_of({random_text(12, 3)});
  EXPECT_TRUE(same_bits(Transformer(config, narrow.source()).forward(batch),
                        Transformer(config, wide.source()).forward(batch)));
}

INSTANTIATE_TEST_SUITE_P(Transformer, Families, testing::ValuesIn(names_of_models()),
                         [](const auto& family) { return family.param; });

TEST(Transformer, TakesThePrefixOfAModelWithAHeadAndTheNamesOfOldConverters) {
  const ModelDescription config = small_model("bert");
  const RandomCheckpoint plain(config);
  RandomCheckpoint headed(config, "bert.");
  std::map<std::string, Tensor> renamed;
  for (auto& [name, tensor] : headed.tensors) {
    std::string old = name;
    if (const auto at = old.find("LayerNorm.weight"); at != std::string::npos)
      old.replace(at, 16, "LayerNorm.gamma");
    if (const auto at = old.find("LayerNorm.bias"); at != std::string::npos)
      old.replace(at, 14, "LayerNorm.beta");
    renamed[old] = std::move(tensor);
  }
  headed.tensors = std::move(renamed);
  const TokenBatch batch = batch_of({random_text(12, 3)});
  EXPECT_TRUE(same_bits(Transformer(config, plain.source()).forward(batch),
                        Transformer(config, headed.source()).forward(batch)));
}

TEST(Transformer, TokenTypesMatter) {
  const ModelDescription config = small_model("bert");
  const RandomCheckpoint checkpoint(config);
  const Transformer transformer(config, checkpoint.source());
  const auto text = random_text(6, 1);
  const std::vector<std::int32_t> zeros(6, 0), ones(6, 1);
  TokenBatch none, first, second, mixed;
  none.add(text);
  first.add(text, zeros);
  second.add(text, ones);
  mixed.add(text);
  mixed.add(text, ones);
  EXPECT_TRUE(same_bits(transformer.forward(none), transformer.forward(first)));
  EXPECT_FALSE(same_bits(transformer.forward(none), transformer.forward(second)));
  const Tensor both = transformer.forward(mixed);
  EXPECT_TRUE(same_bits(copy_of(both.view().slice(0, 6, 12)), transformer.forward(second)));
}

template <class Error>
std::string sentence_of(const std::function<void()>& mistake) {
  try {
    mistake();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Transformer, SaysWhichTensorIsWrong) {
  const ModelDescription config = small_model("bert");
  const auto with = [&](const std::function<void(RandomCheckpoint&)>& change) {
    return sentence_of<FileError>([&] {
      RandomCheckpoint checkpoint(config);
      change(checkpoint);
      const Transformer transformer(config, checkpoint.source());
    });
  };
  EXPECT_EQ(with([](auto& c) { c.tensors.erase("encoder.layer.1.output.dense.bias"); }),
            "random.safetensors: encoder.layer.1.output.dense.bias: there is no such tensor");
  EXPECT_EQ(with([](auto& c) {
              c.tensors["encoder.layer.0.attention.self.key.weight"] = Tensor(DType::f32, {48, 47});
            }),
            "random.safetensors: encoder.layer.0.attention.self.key.weight: its shape is (48, 47), but the "
            "configuration says (48, 48)");
  EXPECT_EQ(with([](auto& c) { c.tensors["embeddings.LayerNorm.bias"] = Tensor(DType::i64, {48}); }),
            "random.safetensors: embeddings.LayerNorm.bias: its type is i64, expected a floating-point type");
  EXPECT_EQ(with([](auto& c) { c.tensors.clear(); }),
            "random.safetensors: embeddings.word_embeddings.weight: there is no such tensor, and a model "
            "of the family bert needs it");
}

TEST(Transformer, RefusesMeaninglessInput) {
  const ModelDescription config = small_model("bert");
  const RandomCheckpoint checkpoint(config);
  const Transformer transformer(config, checkpoint.source());
  const auto forward = [&](const TokenBatch& batch) {
    return sentence_of<std::invalid_argument>([&] { transformer.forward(batch); });
  };
  EXPECT_EQ(forward(batch_of({{1, 50}})), "[model] id 50 of token 1 is outside the vocabulary of 50");
  EXPECT_EQ(forward(batch_of({{-1}})), "[model] id -1 of token 0 is outside the vocabulary of 50");
  EXPECT_EQ(forward(batch_of({random_text(71, 1)})),
            "[model] text 0 has 71 tokens, but the model has positions for only 70");
  TokenBatch wrong = batch_of({{1, 2}});
  wrong.types = {0, 2};
  EXPECT_EQ(forward(wrong), "[model] type 2 of token 1 is not one of the model's 2");
  wrong.types = {0};
  EXPECT_EQ(forward(wrong), "[model] got 1 types for 2 tokens");
  wrong.types = {};
  wrong.ends = {0, 3};
  EXPECT_EQ(forward(wrong), "[model] the ends of a batch must start at 0 and end at its 2 tokens");
  wrong.ends = {0, 2, 1, 2};
  EXPECT_EQ(forward(wrong), "[model] the ends of a batch must not decrease, but do after text 1");
  ModelDescription odd = config;
  odd.layers[1].attention.key_heads = 3;
  EXPECT_EQ(sentence_of<std::invalid_argument>([&] { const Transformer made(odd, checkpoint.source()); }),
            "[model] key_heads is 3, expected a divisor of the 4 heads");
  odd = config;
  odd.layers[1].attention.heads = odd.layers[1].attention.key_heads = 2;
  EXPECT_EQ(sentence_of<std::invalid_argument>([&] { const Transformer made(odd, checkpoint.source()); }),
            "[model] a layer has 2 heads, but the first has 4");
}

}  // namespace
}  // namespace attend
