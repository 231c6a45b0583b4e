// Heads that score whole texts, against transformers in float64 (tools/golden/make_sequence_heads.py).
#include <attend/checkpoint.h>
#include <attend/isa.h>
#include <attend/sequence_head.h>
#include <attend/threads.h>
#include <attend/token_head.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "model/small_models.h"
#include "support/compare.h"
#include "support/file_error.h"
#include "support/refuses.h"

namespace attend {
namespace {

constexpr const char* kHeads[] = {
    "bert",       "roberta",         "xlm-roberta", "distilbert", "mpnet", "electra", "albert", "nomic-bert",
    "modernbert", "modernbert-mean", "gpt2",        "gpt-neox",   "llama", "qwen3",   "gemma3", "phi3"};

class SequenceHeads : public testing::TestWithParam<const char*> {
 protected:
  const std::filesystem::path folder = std::filesystem::path(ATTEND_GOLDEN_HEADS) / GetParam();
  const ModelDescription config = read_model_description(folder / "config.json");
  const TensorSource tensors = tensors_of(Checkpoint::open(folder / "model.safetensors"));
  const Checkpoint golden = Checkpoint::open(folder / "golden.safetensors");

  std::vector<std::int64_t> integers(const std::string& name) const {
    std::vector<std::int64_t> all;
    for (const double value : values_of(golden.tensor(name))) all.push_back(static_cast<std::int64_t>(value));
    return all;
  }

  // Texts number [first, last); three of six are pairs.
  TokenBatch batch(std::size_t first, std::size_t last) const {
    const std::vector<std::int64_t> ids = integers("ids"), firsts = integers("firsts"),
                                    ends = integers("ends");
    TokenBatch batch;
    for (std::size_t text = first; text < last; ++text) {
      const std::vector<std::int32_t> own(ids.begin() + ends[text], ids.begin() + ends[text + 1]);
      std::vector<std::int32_t> own_types(own.size(), 1);
      std::fill_n(own_types.begin(), firsts[text], 0);
      batch.add(own, own_types);
    }
    return batch;
  }
  TokenBatch all() const { return batch(0, integers("ends").size() - 1); }

  // The checkpoint without one of its tensors.
  TensorSource without(const std::string& missing) const {
    TensorSource source = tensors;
    source.contains = [this, missing](const std::string& name) {
      return name != missing && tensors.contains(name);
    };
    return source;
  }
};

std::string head_name(const testing::TestParamInfo<const char*>& name) {
  std::string text = name.param;
  std::erase(text, '-');
  return text;
}
INSTANTIATE_TEST_SUITE_P(Families, SequenceHeads, testing::ValuesIn(kHeads), head_name);

TEST_P(SequenceHeads, LogitsAreAsExactAsThoseOfTransformers) {
  const std::optional<SequenceHead> head = SequenceHead::find(config, tensors);
  ASSERT_TRUE(head);
  ASSERT_EQ(golden.tensor("logits").size(1), head->count());
  const Transformer transformer(config, tensors);
  const double theirs = values_of(golden.tensor("error"))[0];
  for (const std::string& isa : available_isas()) {
    SCOPED_TRACE(isa);
    set_isa(isa);
    const Tensor logits = head->logits(transformer.forward(all()), all());
    // The floor is one unit in the last place of numbers around 2.
    EXPECT_LE(max_abs_difference(logits, golden.tensor("logits")), 1.5 * theirs + 2.4e-7);
  }
  set_isa("");
}

TEST_P(SequenceHeads, ATextHasTheSameBitsInAnyBatch) {
  const Transformer transformer(config, tensors);
  const SequenceHead head = *SequenceHead::find(config, tensors);
  const Tensor together = head.logits(transformer.forward(all()), all());
  for (std::size_t text = 0; text < 6; ++text) {  // one of each kind
    const TokenBatch one = batch(text, text + 1);
    const auto row = static_cast<std::int64_t>(text);
    EXPECT_TRUE(same_bits(head.logits(transformer.forward(one), one), together.view().slice(0, row, row + 1)))
        << text;
  }
  for (const int threads : {1, 3}) {
    set_threads(threads);
    EXPECT_TRUE(same_bits(head.logits(transformer.forward(all()), all()), together)) << threads;
  }
  set_threads(0);
}

TEST_P(SequenceHeads, GuessNoTokens) { EXPECT_FALSE(TokenHead::find(config, tensors)); }

TEST_P(SequenceHeads, RefuseACheckpointThatDoesNotFit) {
  ModelDescription more = config;
  more.sequence_head->labels.emplace_back("another");
  EXPECT_THROW(SequenceHead::find(more, tensors), FileError);
  int own = 0;
  for (const std::string& name : Checkpoint::open(folder / "model.safetensors").names()) {
    const bool part = name.find("classifier") != name.npos || name.find("pooler") != name.npos ||
                      name.starts_with("head.") || name.starts_with("score");
    // A dense layer without a bias is one that ModernBERT may have.
    if (!part || name == "head.dense.bias" ||
        (std::string(GetParam()) == "roberta" && name.find("pooler") != name.npos))
      continue;
    ++own;
    EXPECT_FILE_ERROR(SequenceHead::find(config, without(name)), name, "there is no such tensor");
  }
  EXPECT_GE(own, 1);
  const SequenceHead head = *SequenceHead::find(config, tensors);
  TokenBatch empty;
  empty.add({});
  EXPECT_REFUSES(head.logits(Tensor(DType::f32, {0, config.hidden_size}), empty),
                 "text 1 of the batch has no tokens");
}

constexpr const char* kClassifier =
    R"({"model_type":"bert","hidden_size":24,"num_hidden_layers":1,"num_attention_heads":4,"intermediate_size":48,
        "vocab_size":100,"max_position_embeddings":16,"architectures":["BertForSequenceClassification"])";

SequenceHeadDescription head_of(const std::string& more) {
  return described(kClassifier + (more.empty() ? "" : "," + more) + "}").sequence_head.value();
}

TEST(SequenceHead, LabelsAreThoseOfTheConfiguration) {
  using Labels = std::vector<std::string>;
  EXPECT_EQ(head_of("").labels, (Labels{"LABEL_0", "LABEL_1"}));
  EXPECT_EQ(head_of(R"("num_labels":1)").labels, Labels{"LABEL_0"});
  EXPECT_EQ(head_of(R"("id2label":null,"num_labels":3)").labels.size(), 3U);
  EXPECT_EQ(head_of(R"("id2label":{"1":"good","0":"bad"},"label2id":{"good":7})").labels,
            (Labels{"bad", "good"}));
  EXPECT_FALSE(
      described(R"({"model_type":"bert","hidden_size":24,"num_hidden_layers":1,"num_attention_heads":4,
      "intermediate_size":48,"vocab_size":100,"max_position_embeddings":16,"id2label":{"7":"odd"},
      "architectures":["BertForTokenClassification"]})")
          .sequence_head);
  EXPECT_FILE_ERROR(head_of(R"("id2label":{"0":"a","1":"b"},"num_labels":3)"), "id2label",
                    "names 2 labels, but num_labels is 3");
  EXPECT_FILE_ERROR(head_of(R"("id2label":{})"), "id2label", "names 0 labels");
  EXPECT_FILE_ERROR(head_of(R"("id2label":{"0":"a","2":"b"})"), "id2label.1", "is missing");
  EXPECT_FILE_ERROR(head_of(R"("id2label":{"0":["a"]})"), "id2label.0", "expected a string");
  EXPECT_FILE_ERROR(head_of(R"("id2label":["a"])"), "id2label", "expected an object");
  EXPECT_FILE_ERROR(head_of(R"("num_labels":0)"), "num_labels", "0 is not between 1 and");
  EXPECT_FILE_ERROR(head_of(R"("num_labels":16000000)"), "num_labels", "is not between 1 and 65536");
}

TEST(SequenceHead, TheFunctionIsThatOfTransformersPipeline) {
  using enum ScoreFunction;
  const auto function = [](const std::string& more) { return head_of(more).classifier_function; };
  EXPECT_EQ(function(""), softmax);
  EXPECT_EQ(function(R"("num_labels":1)"), sigmoid);
  EXPECT_EQ(function(R"("problem_type":"regression")"), identity);
  EXPECT_EQ(function(R"("num_labels":1,"problem_type":"regression")"), identity);
  EXPECT_EQ(function(R"("problem_type":"multi_label_classification")"), sigmoid);
  EXPECT_EQ(function(R"("problem_type":"single_label_classification")"), softmax);
  EXPECT_FILE_ERROR(function(R"("problem_type":"guessing")"), "problem_type", "\"guessing\" is not one of");
  EXPECT_FILE_ERROR(function(R"("num_labels":1,"problem_type":"single_label_classification")"),
                    "problem_type", "a single label cannot be chosen among");
}

TEST(SequenceHead, ThatOfACrossEncoderIsSentenceTransformers) {
  const std::filesystem::path folder = std::filesystem::path(ATTEND_GOLDEN_HEADS) / "bert";
  const TensorSource tensors = tensors_of(Checkpoint::open(folder / "model.safetensors"));
  ModelDescription config = read_model_description(folder / "config.json");
  const auto function = [&](const std::string& path) {
    config.sequence_head->activation = path;
    return SequenceHead::find(config, tensors)->cross_encoder_function();
  };
  EXPECT_EQ(function(""), ScoreFunction::identity);  // of three labels
  EXPECT_EQ(function("torch.nn.modules.activation.Sigmoid"), ScoreFunction::sigmoid);
  EXPECT_EQ(function("torch.nn.modules.linear.Identity"), ScoreFunction::identity);
  EXPECT_EQ(function("somebody.elses.Function"), ScoreFunction::identity);
  EXPECT_FILE_ERROR(function("torch.nn.modules.activation.Tanh"), "activation_fn", "Tanh\" is not one");

  EXPECT_EQ(head_of(R"("sentence_transformers":{"activation_fn":"torch.nn.Identity","version":"4.1.0"})")
                .activation,
            "torch.nn.Identity");
  EXPECT_EQ(head_of(R"("sbert_ce_default_activation_function":"torch.nn.Sigmoid")").activation,
            "torch.nn.Sigmoid");
  EXPECT_EQ(head_of(R"("sbert_ce_default_activation_function":null)").activation, "");
  EXPECT_FILE_ERROR(head_of(R"("sentence_transformers":{"activation_fn":3})"),
                    "sentence_transformers.activation_fn", "expected a string");
}

TEST(SequenceHead, ADecoderScoresItsLastTokenThatIsNotPadding) {
  const std::filesystem::path folder = std::filesystem::path(ATTEND_GOLDEN_HEADS) / "qwen3";
  const TensorSource tensors = tensors_of(Checkpoint::open(folder / "model.safetensors"));
  ModelDescription config = read_model_description(folder / "config.json");
  const Transformer transformer(config, tensors);
  const auto score = [&](const std::vector<std::int32_t>& text) {
    TokenBatch batch;
    batch.add(text);
    return SequenceHead::find(config, tensors)->logits(transformer.forward(batch), batch);
  };
  const Tensor expected = score({7, 8});
  EXPECT_FALSE(same_bits(score({7, 8, 3, 3}), expected));
  config.sequence_head->padding = 3;
  EXPECT_TRUE(same_bits(score({7, 8, 3, 3}), expected));
  EXPECT_TRUE(same_bits(score({3, 3}), score({3})));
}

TEST(SequenceHead, AHeadOfAnotherKindIsRefused) {
  const ModelDescription config = described(
      R"({"model_type": "t5", "architectures": ["T5ForSequenceClassification"], "d_model": 48, "num_layers": 2,
          "num_heads": 4, "d_kv": 10, "d_ff": 80, "vocab_size": 50, "n_positions": 70})");
  TensorSource tensors{.file = "none",
                       .contains = [](const std::string& name) { return name == "shared.weight"; },
                       .tensor = [](const std::string&) { return ConstTensorView(); }};
  EXPECT_FILE_ERROR(SequenceHead::find(config, tensors), "architectures",
                    "of the family t5 are not supported");
}

TEST(ScoreFunctions, MakeScoresInPlace) {
  const auto made = [](ScoreFunction function, const std::vector<float>& logits) {
    Tensor scores = Tensor::from<float>({1, static_cast<std::int64_t>(logits.size())}, logits);
    apply(function, scores);
    return values_of(scores);
  };
  EXPECT_EQ(made(ScoreFunction::identity, {1.5F, -2}), (std::vector<double>{1.5, -2}));
  EXPECT_NEAR(made(ScoreFunction::sigmoid, {1.5F})[0], 1 / (1 + std::exp(-1.5)), 1e-7);
  EXPECT_EQ(made(ScoreFunction::sigmoid, {1000, -1000}), (std::vector<double>{1, 0}));
  const std::vector<double> shares = made(ScoreFunction::softmax, {1000, 999, -1000});
  EXPECT_NEAR(shares[0], 1 / (1 + std::exp(-1)), 1e-7);
  EXPECT_NEAR(shares[1], 1 / (1 + std::exp(1)), 1e-7);
  EXPECT_EQ(shares[2], 0);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const double share : made(ScoreFunction::softmax, {1, nan})) EXPECT_TRUE(std::isnan(share));
  for (const char* const name : {"identity", "sigmoid", "softmax"})
    EXPECT_EQ(name_of(*score_function_named(name)), name);
  EXPECT_FALSE(score_function_named("tanh"));
}

}  // namespace
}  // namespace attend
