// Sentence models made of decoders: the vector of the last token, which is the one that tokenizer.json adds.
#include <attend/text_model.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "support/compare.h"
#include "support/temporary_folder.h"

namespace attend {
namespace {

constexpr std::int32_t kEndOfText = 1;

class LastTokenModel {
 public:
  LastTokenModel() {
    const std::filesystem::path golden = std::filesystem::path(ATTEND_GOLDEN_MODELS) / "gpt2";
    for (const char* const name : {"config.json", "model.safetensors"})
      std::filesystem::copy_file(golden / name, folder_.path() / name);
    std::string words = R"("[UNK]":0,"<end>":1)";
    for (int i = 2; i < 64; ++i) words += ",\"w" + std::to_string(i) + "\":" + std::to_string(i);
    folder_.write("tokenizer.json", R"({"version":"1.0","truncation":null,"padding":null,
      "added_tokens":[{"id":1,"content":"<end>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true}],
      "normalizer":null,"pre_tokenizer":{"type":"WhitespaceSplit"},"decoder":null,
      "post_processor":{"type":"TemplateProcessing",
        "single":[{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"<end>","type_id":0}}],
        "pair":[{"Sequence":{"id":"A","type_id":0}},{"Sequence":{"id":"B","type_id":1}},{"SpecialToken":{"id":"<end>","type_id":1}}],
        "special_tokens":{"<end>":{"id":"<end>","ids":[1],"tokens":["<end>"]}}},
      "model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##","max_input_chars_per_word":100,"vocab":{)" +
                                        words + "}}}");
    folder_.write("modules.json",
                  R"([{"idx":0,"name":"0","path":"","type":"sentence_transformers.models.Transformer"},
      {"idx":1,"name":"1","path":"1_Pooling","type":"sentence_transformers.models.Pooling"}])");
    folder_.write("1_Pooling/config.json",
                  R"({"word_embedding_dimension":32,"pooling_mode_cls_token":false,
      "pooling_mode_mean_tokens":false,"pooling_mode_lasttoken":true})");
    folder_.write("config_sentence_transformers.json",
                  R"({"prompts":{"query":"w7 w8 ","document":""},"default_prompt_name":null})");
  }
  TextModel load() const { return TextModel::load(folder_.path().string()); }

 private:
  TemporaryFolder folder_;
};

Tensor last_row(const TextModel& model, const std::vector<std::int32_t>& ids) {
  TokenBatch batch;
  batch.add(ids);
  const Tensor hidden = model.transformer().forward(batch);
  return copy_of(hidden.view().slice(0, hidden.size(0) - 1, hidden.size(0)));
}

TEST(EmbeddingModels, TheLastTokenIsTheOneThatTheTokenizerAdds) {
  const LastTokenModel files;
  const TextModel model = files.load();
  EXPECT_EQ(model.files().pooling, std::vector{Pooling::last_token});
  const std::vector<std::string_view> one{"w5 w9 w30"};
  EXPECT_EQ(model.encode(one[0]).ids, (std::vector<std::int32_t>{5, 9, 30, kEndOfText}));
  EXPECT_TRUE(same_bits(model.embed(one), last_row(model, {5, 9, 30, kEndOfText})));
  EXPECT_GT(max_abs_difference(model.embed(one), last_row(model, {5, 9, 30})), 1e-2);
}

// Other programs pad a batch on its left and must then shift positions; here nothing is padded.
TEST(EmbeddingModels, TextsOfABatchDoNotMatterToEachOther) {
  const LastTokenModel files;
  const TextModel model = files.load();
  const std::vector<std::string_view> texts{"w5 w9 w30", "w2", "w40 w41 w42 w43 w44 w45 w46"};
  const Tensor together = model.embed(texts);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    EXPECT_TRUE(
        same_bits(model.embed(std::vector{texts[i]}), copy_of(together.view().slice(0, row, row + 1))));
  }
}

TEST(EmbeddingModels, ATextThatIsCutStillEndsWithIt) {
  const LastTokenModel files;
  const TextModel model = files.load();
  const std::vector<std::string_view> one{"w5 w9 w30 w31 w32"};
  EXPECT_EQ(model.encode(one[0], 3).ids, (std::vector<std::int32_t>{5, 9, kEndOfText}));
  EXPECT_TRUE(same_bits(model.embed(one, {.max_tokens = 3}), last_row(model, {5, 9, kEndOfText})));
}

TEST(EmbeddingModels, AnInstructionStandsBeforeTheText) {
  const LastTokenModel files;
  const TextModel model = files.load();
  const std::string prompt = model.files().prompts.at("query");
  const std::vector<std::string_view> one{"w5"};
  EXPECT_TRUE(same_bits(model.embed(one, {.prompt = prompt}), last_row(model, {7, 8, 5, kEndOfText})));
  EXPECT_TRUE(same_bits(model.embed(one), last_row(model, {5, kEndOfText})));
}

}  // namespace
}  // namespace attend
