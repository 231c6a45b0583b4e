// A pretrained encoder computes what it did before, and is saved as it was.
#include "learn/pretrained.h"

#include <attend/save.h>
#include <attend/transformer.h>
#include <gtest/gtest.h>

#include <fstream>

#include "support/compare.h"
#include "support/file_error.h"
#include "support/temporary_folder.h"

namespace attend::learn {
namespace {

namespace fs = std::filesystem;
const fs::path kModels = ATTEND_GOLDEN_MODELS;

// Four texts of the golden files, padded to the same length.
train::Batch padded(const TokenBatch& texts, std::int64_t length) {
  train::Sequences tokens{.count = texts.texts(), .length = length};
  for (std::size_t s = 0; s + 1 < texts.ends.size(); ++s) {
    tokens.ids.insert(tokens.ids.end(), texts.ids.begin() + texts.ends[s],
                      texts.ids.begin() + texts.ends[s + 1]);
    tokens.ids.resize((s + 1) * static_cast<std::size_t>(length), 1);
    tokens.lengths.push_back(texts.ends[s + 1] - texts.ends[s]);
  }
  return {.tokens = tokens};
}

TokenBatch golden_texts(const fs::path& folder) {
  const Checkpoint golden = Checkpoint::open(folder / "golden.safetensors");
  TokenBatch texts;
  for (const double id : values_of(golden.tensor("ids"))) texts.ids.push_back(static_cast<std::int32_t>(id));
  texts.ends.clear();
  for (const double end : values_of(golden.tensor("ends")))
    texts.ends.push_back(static_cast<std::int64_t>(end));
  return texts;
}

class EachFamily : public testing::TestWithParam<const char*> {
 protected:
  EachFamily() : texts(golden_texts(kModels / GetParam())), start((kModels / GetParam()).string()) {
    EXPECT_LT(30, start.description().max_tokens());  // the other positions are carried over
    model = std::make_unique<train::Model>(start.description_for(30),
                                           train::TrainingOptions{.sequences = 4, .guesses = false});
    start.fill(*model);
  }
  static Tensor by_the_encoder(const fs::path& folder, const TokenBatch& texts) {
    return Transformer(read_model_description(folder / "config.json"), tensors_of(Checkpoint::open(folder)))
        .forward(texts);
  }
  void expect_same_vectors(const Tensor& expected) {
    const ConstTensorView hidden = model->hidden(padded(texts, 30));
    for (std::int64_t s = 0; s < 4; ++s) {
      const std::int64_t begin = texts.ends[static_cast<std::size_t>(s)];
      const std::int64_t size = texts.ends[static_cast<std::size_t>(s) + 1] - begin;
      EXPECT_LT(max_abs_difference(hidden.slice(0, s * 30, s * 30 + size),
                                   expected.view().slice(0, begin, begin + size)),
                1e-5)
          << s;
    }
  }

  const TokenBatch texts;
  const Pretrained start;
  std::unique_ptr<train::Model> model;
};
INSTANTIATE_TEST_SUITE_P(Families, EachFamily,
                         testing::Values("bert", "roberta", "xlm-roberta", "distilbert"),
                         [](const auto& one) {
                           std::string name = one.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST_P(EachFamily, ComputesWhatTheEncoderComputes) {
  expect_same_vectors(by_the_encoder(kModels / GetParam(), texts));
}

TEST_P(EachFamily, IsSavedAsItWas) {
  const TemporaryFolder folder;
  start.save(folder.path(), *model);
  const Checkpoint before = Checkpoint::open(kModels / GetParam()), after = Checkpoint::open(folder.path());
  ASSERT_EQ(after.names(), before.names());
  for (const std::string& name : before.names())
    EXPECT_TRUE(same_bits(after.tensor(name), before.tensor(name))) << name;
  EXPECT_EQ(Pretrained(folder.path().string()).fingerprint(), start.fingerprint());
}

// Every parameter is saved where it is read: with all of them changed, the folder computes what the model
// does.
TEST_P(EachFamily, WhatWasLearnedIsSaved) {
  train::Parameters& parameters = model->parameters();
  for (int i = 0; i < parameters.count(); ++i) {
    for (std::int64_t j = 0; j < element_count(parameters[i].shape); ++j) {
      parameters.value(i).data<float>()[j] +=
          static_cast<float>(0.05 * std::sin(static_cast<double>(i + 3 * j)));
    }
  }
  const TemporaryFolder folder;
  start.save(folder.path(), *model);
  expect_same_vectors(by_the_encoder(folder.path(), texts));
  EXPECT_NE(Pretrained(folder.path().string()).fingerprint(), start.fingerprint());
  const Checkpoint before = Checkpoint::open(kModels / GetParam()), after = Checkpoint::open(folder.path());
  for (const std::string& name : before.names()) {
    if (name.find("pooler") == name.npos) continue;
    EXPECT_TRUE(same_bits(after.tensor(name), before.tensor(name))) << name;
  }
}

TEST(Pretrained, CarriesASentenceModelsFilesOver) {
  const TemporaryFolder from, to;
  fs::create_directory(from.path() / "0_Transformer");
  fs::create_directory(from.path() / "1_Pooling");
  for (const char* const name : {"config.json", "model.safetensors"})
    fs::copy(kModels / "bert" / name, from.path() / "0_Transformer" / name);
  const auto write = [&](const char* name, const char* text) { std::ofstream(from.path() / name) << text; };
  write("modules.json", R"([{"path": "0_Transformer", "type": "sentence_transformers.models.Transformer"},
    {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}])");
  write("1_Pooling/config.json", R"({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false})");
  write("0_Transformer/sentence_bert_config.json", R"({"max_seq_length": 17})");
  const Pretrained start(from.path().string());
  train::Model model(start.description_for(4), {.guesses = false});
  start.fill(model);
  start.save(to.path(), model);
  const ModelFiles files = find_model(to.path().string());
  EXPECT_EQ(files.folder, to.path() / "0_Transformer");
  EXPECT_EQ(files.pooling, std::vector{Pooling::cls});
  EXPECT_EQ(files.max_tokens, 17);
}

// What is learned would be lost in 16 bits, so it is stored as f32, and the configuration says so.
TEST(Pretrained, A16BitModelBecomesF32) {
  const TemporaryFolder from, to;
  const Checkpoint whole = Checkpoint::open(kModels / "bert");
  std::vector<Tensor> halves;
  for (const std::string& name : whole.names()) halves.push_back(copy_of(whole.tensor(name), DType::f16));
  std::vector<NamedTensor> tensors;
  for (std::size_t i = 0; i < halves.size(); ++i) tensors.push_back({whole.names()[i], halves[i]});
  save_safetensors(from.path() / "model.safetensors", tensors);
  const auto read = [](const fs::path& file) {
    std::ifstream stream(file);
    return std::string(std::istreambuf_iterator<char>(stream), {});
  };
  std::string config = read(kModels / "bert/config.json");
  config.insert(config.find('{') + 1, "\"dtype\": \"float16\",");
  std::ofstream(from.path() / "config.json") << config;

  const Pretrained start(from.path().string());
  train::Model model(start.description_for(4), {.guesses = false});
  start.fill(model);
  start.save(to.path(), model);
  const Checkpoint after = Checkpoint::open(to.path());
  for (std::size_t i = 0; i < halves.size(); ++i) {
    const std::string name = whole.names()[i];
    const bool carried = name.find("pooler") != name.npos;
    EXPECT_EQ(after.tensor(name).dtype(), carried ? DType::f16 : DType::f32) << name;
    EXPECT_EQ(max_abs_difference(after.tensor(name), halves[i]), 0) << name;
  }
  const std::string saved = read(to.path() / "config.json");
  EXPECT_NE(saved.find("\"dtype\": \"float32\""), saved.npos);
  EXPECT_EQ(saved.find("float16"), saved.npos);
}

TEST(Pretrained, RefusesOtherFamilies) {
  EXPECT_FILE_ERROR(Pretrained((kModels / "mpnet").string()), "model_type",
                    "\"mpnet\" has a table of relative positions");
  EXPECT_FILE_ERROR(Pretrained((kModels / "gpt2").string()), "model_type",
                    "\"gpt2\" is not an encoder, and pairs only trains encoders");
  EXPECT_FILE_ERROR(Pretrained((kModels / "bert-relu").string()), "hidden_act",
                    "is an activation that pairs does not train");
}

}  // namespace
}  // namespace attend::learn
