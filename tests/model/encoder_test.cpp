#include <attend/encoder.h>

#include <attend/file_error.h>
#include <attend/threads.h>
#include <gtest/gtest.h>

#include <random>

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

class Families : public testing::TestWithParam<ModelFamily> {};

TEST_P(Families, ATextHasTheSameBitsAloneInABatchAndOnAnyNumberOfThreads) {
  const ModelConfig config = small_model(GetParam());
  const RandomCheckpoint checkpoint(config);
  const Encoder encoder(config, checkpoint.source());
  std::vector<std::vector<std::int32_t>> texts;
  for (const int length : {5, 1, 68, 0, 17, 33}) texts.push_back(random_text(length, length));
  const Tensor together = encoder.forward(batch_of(texts));
  for (const int count : {1, 2, 3, 8}) {
    set_threads(count);
    EXPECT_TRUE(same_bits(encoder.forward(batch_of(texts)), together)) << count << " threads";
  }
  set_threads(0);
  std::int64_t begin = 0;
  for (const auto& text : texts) {
    const std::int64_t end = begin + static_cast<std::int64_t>(text.size());
    EXPECT_TRUE(same_bits(encoder.forward(batch_of({text})), copy_of(together.view().slice(0, begin, end))))
        << text.size();
    begin = end;
  }
}

TEST_P(Families, LayersAreShownWithWhatTheirWeightsNeed) {
  const ModelConfig config = small_model(GetParam());
  const RandomCheckpoint checkpoint(config);
  const Encoder encoder(config, checkpoint.source());
  const TokenBatch batch = batch_of({random_text(9, 1), random_text(14, 2)});
  std::int64_t next = 0;
  Tensor last_hidden;
  const Tensor out = encoder.forward(batch, [&](const LayerMoment& moment) {
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
    for (std::int64_t head = 0; head < 4; ++head) {
      for (std::int64_t i = 0; i < 14; ++i) {
        for (std::int64_t d = 0; d < 12; ++d) {
          double sum = 0;
          for (std::int64_t j = 0; j < 14; ++j) {
            sum += weights.values<float>()[static_cast<std::size_t>((head * 14 + i) * 14 + j)] *
                   moment.v.data<float>()[(9 + j) * moment.v.stride(0) + head * moment.v.stride(1) + d];
          }
          EXPECT_NEAR(moment.attended.data<float>()[(9 + i) * 48 + head * 12 + d], sum, 1e-5);
        }
      }
    }
  });
  EXPECT_EQ(next, 3);
  EXPECT_TRUE(same_bits(out, last_hidden));
}

TEST_P(Families, StopsAfterTheLayerThatIsAskedFor) {
  const ModelConfig config = small_model(GetParam());
  const RandomCheckpoint checkpoint(config);
  const Encoder encoder(config, checkpoint.source());
  const TokenBatch batch = batch_of({random_text(9, 1), random_text(14, 2)});
  encoder.forward(batch, [&](const LayerMoment& moment) {
    EXPECT_TRUE(same_bits(encoder.forward(batch, {}, moment.layer), moment.hidden))
        << "layer " << moment.layer;
  });
  EXPECT_REFUSES(encoder.forward(batch, {}, 3), "[encoder] layer 3 is asked for, there are 0 to 2");
}

TEST_P(Families, SixteenBitWeightsAreThoseNumbers) {
  const ModelConfig config = small_model(GetParam());
  const RandomCheckpoint narrow(config, "", DType::bf16);
  RandomCheckpoint wide(config);
  for (auto& [name, tensor] : wide.tensors) tensor = copy_of(narrow.tensors.at(name), DType::f32);
  const TokenBatch batch = batch_of({random_text(12, 3)});
  EXPECT_TRUE(same_bits(Encoder(config, narrow.source()).forward(batch),
                        Encoder(config, wide.source()).forward(batch)));
}

INSTANTIATE_TEST_SUITE_P(Encoder, Families,
                         testing::Values(ModelFamily::bert, ModelFamily::roberta, ModelFamily::mpnet,
                                         ModelFamily::gpt2),
                         [](const auto& family) { return std::string(name_of(family.param)); });

TEST(Encoder, TakesThePrefixOfAModelWithAHeadAndTheNamesOfOldConverters) {
  const ModelConfig config = small_model(ModelFamily::bert);
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
  EXPECT_TRUE(same_bits(Encoder(config, plain.source()).forward(batch),
                        Encoder(config, headed.source()).forward(batch)));
}

TEST(Encoder, TypesOfTokensCount) {
  const ModelConfig config = small_model(ModelFamily::bert);
  const RandomCheckpoint checkpoint(config);
  const Encoder encoder(config, checkpoint.source());
  const auto text = random_text(6, 1);
  const std::vector<std::int32_t> zeros(6, 0), ones(6, 1);
  TokenBatch none, first, second, mixed;
  none.add(text);
  first.add(text, zeros);
  second.add(text, ones);
  mixed.add(text);
  mixed.add(text, ones);
  EXPECT_TRUE(same_bits(encoder.forward(none), encoder.forward(first)));
  EXPECT_FALSE(same_bits(encoder.forward(none), encoder.forward(second)));
  const Tensor both = encoder.forward(mixed);
  EXPECT_TRUE(same_bits(copy_of(both.view().slice(0, 6, 12)), encoder.forward(second)));
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

TEST(Encoder, SaysWhichTensorIsWrong) {
  const ModelConfig config = small_model(ModelFamily::bert);
  const auto with = [&](const std::function<void(RandomCheckpoint&)>& change) {
    return sentence_of<FileError>([&] {
      RandomCheckpoint checkpoint(config);
      change(checkpoint);
      const Encoder encoder(config, checkpoint.source());
    });
  };
  EXPECT_EQ(with([](auto& c) { c.tensors.erase("encoder.layer.1.output.dense.bias"); }),
            "random.safetensors: encoder.layer.1.output.dense.bias: there is no such tensor");
  EXPECT_EQ(with([](auto& c) {
              c.tensors["encoder.layer.0.attention.self.key.weight"] = Tensor(DType::f32, {48, 47});
            }),
            "random.safetensors: encoder.layer.0.attention.self.key.weight: its shape is (48, 47), the "
            "configuration says (48, 48)");
  EXPECT_EQ(with([](auto& c) { c.tensors["embeddings.LayerNorm.bias"] = Tensor(DType::i64, {48}); }),
            "random.safetensors: embeddings.LayerNorm.bias: its type is i64, expected a floating one");
  EXPECT_EQ(with([](auto& c) { c.tensors.clear(); }),
            "random.safetensors: embeddings.word_embeddings.weight: there is no such tensor, which a model "
            "of the family bert has");
}

TEST(Encoder, RefusesWhatHasNoMeaning) {
  const ModelConfig config = small_model(ModelFamily::bert);
  const RandomCheckpoint checkpoint(config);
  const Encoder encoder(config, checkpoint.source());
  const auto forward = [&](const TokenBatch& batch) {
    return sentence_of<std::invalid_argument>([&] { encoder.forward(batch); });
  };
  EXPECT_EQ(forward(batch_of({{1, 50}})), "[encoder] id 50 of token 1 is outside the vocabulary of 50");
  EXPECT_EQ(forward(batch_of({{-1}})), "[encoder] id -1 of token 0 is outside the vocabulary of 50");
  EXPECT_EQ(forward(batch_of({random_text(71, 1)})),
            "[encoder] text 0 has 71 tokens, and the model has positions for 70");
  TokenBatch wrong = batch_of({{1, 2}});
  wrong.types = {0, 2};
  EXPECT_EQ(forward(wrong), "[encoder] type 2 of token 1 is not one of the model's 2");
  wrong.types = {0};
  EXPECT_EQ(forward(wrong), "[encoder] got 1 types for 2 tokens");
  wrong.types = {};
  wrong.ends = {0, 3};
  EXPECT_EQ(forward(wrong), "[encoder] the ends of a batch must start at 0 and end at its 2 tokens");
  wrong.ends = {0, 2, 1, 2};
  EXPECT_EQ(forward(wrong), "[encoder] the ends of a batch must not go down, but do after text 1");
  ModelConfig odd = config;
  odd.heads = 5;
  EXPECT_EQ(sentence_of<std::invalid_argument>([&] { const Encoder made(odd, checkpoint.source()); }),
            "[encoder] hidden is 48, expected a multiple of the 5 heads");
}

}  // namespace
}  // namespace attend
