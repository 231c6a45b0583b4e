#include <attend/text_model.h>

#include <attend/file_error.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "support/compare.h"
#include "support/file_error.h"
#include "support/refuses.h"
#include "support/temporary_folder.h"

namespace attend {
namespace {

// The golden BERT with a vocabulary of words, and what a sentence-transformers folder adds where a test asks
// for it.
class SmallModel {
 public:
  SmallModel() {
    const std::filesystem::path golden = std::filesystem::path(ATTEND_GOLDEN_MODELS) / "bert";
    for (const char* const name : {"config.json", "model.safetensors"})
      std::filesystem::copy_file(golden / name, path() / name);
    std::string words = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\nbank\nof\nriver\nmoney\nis\n";
    for (int i = 11; i < 64; ++i) words += "w" + std::to_string(i) + "\n";
    write("vocab.txt", words);
  }

  const std::filesystem::path& path() const { return folder_.path(); }
  void write(const std::string& name, const std::string& text) const { folder_.write(name, text); }
  TextModel load() const { return TextModel::load(path().string()); }

 private:
  TemporaryFolder folder_;
};

const std::vector<std::string_view> kTexts{"the bank of the river", "", "money is the bank",
                                           "w20 w21 w22 nowhere"};

Tensor hidden_of(const TextModel& model, std::string_view text, std::optional<std::int64_t> layer = {}) {
  const Encoding encoding = model.encode(text);
  TokenBatch batch;
  batch.add(encoding.ids, encoding.type_ids);
  return model.transformer().forward(batch, {}, layer);
}

Tensor pooled_of(ConstTensorView hidden, const std::vector<Pooling>& poolings) {
  Tensor out(DType::f32, {1, hidden.size(1) * static_cast<std::int64_t>(poolings.size())});
  pool(hidden, std::vector<std::int64_t>{0, hidden.size(0)}, poolings, out);
  return out;
}

TEST(TextModel, AVectorIsTheMeanOfItsTokensWhereTheFolderSaysNothing) {
  const SmallModel files;
  const TextModel model = files.load();
  EXPECT_EQ(model.embedding_size(), 32);
  EXPECT_EQ(model.max_tokens(), 40);
  const Tensor vectors = model.embed(kTexts);
  ASSERT_EQ(vectors.shape(), (Dims{4, 32}));
  for (std::int64_t i = 0; i < 4; ++i) {
    const Tensor expected = pooled_of(hidden_of(model, kTexts[static_cast<std::size_t>(i)]), {Pooling::mean});
    EXPECT_TRUE(same_bits(copy_of(vectors.view().slice(0, i, i + 1)), expected)) << i;
  }
}

TEST(TextModel, TheSizeOfABatchChangesNoBit) {
  const SmallModel files;
  const TextModel model = files.load();
  const Tensor expected = model.embed(kTexts);
  for (const std::int64_t tokens : {1, 5, 9, 100}) {
    EXPECT_TRUE(same_bits(model.embed(kTexts, {.batch_tokens = tokens}), expected)) << tokens;
  }
}

TEST(TextModel, OptionsOverrideTheFolder) {
  const SmallModel files;
  files.write("modules.json",
              R"([{"idx":0,"name":"0","path":"","type":"sentence_transformers.models.Transformer"},
    {"idx":1,"name":"1","path":"1_Pooling","type":"sentence_transformers.models.Pooling"},
    {"idx":2,"name":"2","path":"2_Normalize","type":"sentence_transformers.models.Normalize"}])");
  files.write(
      "1_Pooling/config.json",
      R"({"word_embedding_dimension":32,"pooling_mode_cls_token":true,"pooling_mode_mean_tokens":true})");
  files.write("sentence_bert_config.json", R"({"max_seq_length":4,"do_lower_case":false})");
  const TextModel model = files.load();
  EXPECT_EQ(model.max_tokens(), 4);
  EXPECT_EQ(model.embedding_size(), 64);
  const Encoding cut = model.encode(kTexts[0]);
  EXPECT_EQ(cut.size(), 4U);
  EXPECT_EQ(cut.dropped, 3);

  const std::vector<std::string_view> one{kTexts[0]};
  Tensor expected = pooled_of(hidden_of(model, kTexts[0]), {Pooling::cls, Pooling::mean});
  EXPECT_TRUE(same_bits(model.embed(one, {.normalize = false}), expected));
  normalize_rows(expected, expected);
  EXPECT_TRUE(same_bits(model.embed(one), expected));
  const Tensor first = pooled_of(hidden_of(model, kTexts[0], 1), {Pooling::max});
  EXPECT_TRUE(
      same_bits(model.embed(one, {.pooling = {Pooling::max}, .normalize = false, .layer = 1}), first));
  EXPECT_REFUSES(model.embed(one, {.layer = 3}), "[embed] layer is 3, expected 0 to 2");
  EXPECT_REFUSES(model.embed(one, {.batch_tokens = 0}), "[embed] batch_tokens is 0");
}

TEST(TextModel, APromptComesBeforeEveryText) {
  const SmallModel files;
  files.write("modules.json",
              R"([{"idx":0,"name":"0","path":"","type":"sentence_transformers.models.Transformer"},
    {"idx":1,"name":"1","path":"1_Pooling","type":"sentence_transformers.models.Pooling"}])");
  files.write("1_Pooling/config.json", R"({"word_embedding_dimension":32,"pooling_mode_mean_tokens":true})");
  files.write("config_sentence_transformers.json",
              R"({"prompts":{"query":"money of "},"default_prompt_name":"query"})");
  const TextModel model = files.load();
  const std::vector<std::string_view> plain{"the river"}, whole{"money of the river"};
  EXPECT_TRUE(same_bits(model.embed(plain), model.embed(whole, {.prompt = ""})));
  EXPECT_TRUE(same_bits(model.embed(plain, {.prompt = "money of "}), model.embed(plain)));
  EXPECT_FALSE(same_bits(model.embed(plain, {.prompt = ""}), model.embed(plain)));
}

TEST(TextModel, LowerCaseIsAsTheFolderSays) {
  const SmallModel files;
  files.write("modules.json",
              R"([{"idx":0,"name":"0","path":"","type":"sentence_transformers.models.Transformer"},
    {"idx":1,"name":"1","path":"1_Pooling","type":"sentence_transformers.models.Pooling"}])");
  files.write("1_Pooling/config.json", R"({"word_embedding_dimension":32,"pooling_mode_mean_tokens":true})");
  files.write("tokenizer_config.json", R"({"do_lower_case":false})");
  const std::vector<std::string_view> small{"the bank"}, capitals{"The BANK"};
  files.write("sentence_bert_config.json", R"({"max_seq_length":40,"do_lower_case":false})");
  const TextModel cased = files.load();
  EXPECT_FALSE(same_bits(cased.embed(capitals), cased.embed(small)));  // [UNK] [UNK]
  files.write("sentence_bert_config.json", R"({"max_seq_length":40,"do_lower_case":true})");
  const TextModel model = files.load();
  EXPECT_TRUE(same_bits(model.embed(capitals), cased.embed(small)));
  EXPECT_EQ(model.encode("The BANK", "of Money").ids, cased.encode("the bank", "of money").ids);
  EXPECT_EQ(model.encode("The BANK").offsets[2], (TextSpan{4, 8}));
}

TEST(TextModel, ACheckpointThatIsCutShortLaterIsNotTrusted) {
  const SmallModel files;
  const TextModel model = files.load();
  EXPECT_NO_THROW(model.embed(kTexts));
  std::filesystem::resize_file(files.path() / "model.safetensors", 100);
  EXPECT_THROW(model.embed(kTexts), FileError);
}

TEST(TextModel, NamesTheContradiction) {
  const SmallModel files;
  files.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n");
  EXPECT_NO_THROW(files.load());  // fewer tokens than vectors: some models pad their table
  std::string many = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
  for (int i = 5; i < 70; ++i) many += "w" + std::to_string(i) + "\n";
  files.write("vocab.txt", many);
  const TextModel more = files.load();  // more tokens than vectors, which matter where a text has them
  EXPECT_NO_THROW(more.embed(std::vector<std::string_view>{"w5 w63"}));
  EXPECT_REFUSES(more.embed(std::vector<std::string_view>{"w5 w64"}),
                 "[model] id 64 of token 2 is outside the vocabulary of 64");
  std::filesystem::remove(files.path() / "vocab.txt");
  EXPECT_FILE_ERROR(files.load(), "", "there is neither tokenizer.json nor vocab.txt in this folder");
}

}  // namespace
}  // namespace attend
