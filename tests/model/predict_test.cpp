// TextModel::predict() and rank() on the golden cross-encoder, a folder of sentence-transformers
// (tools/golden/make_sequence_heads.py). tests/python/predict_test.py has its answers.
#include <attend/text_model.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "support/compare.h"
#include "support/file_error.h"
#include "support/refuses.h"
#include "support/temporary_folder.h"

namespace attend {
namespace {

class CrossEncoderFiles {
 public:
  CrossEncoderFiles() {
    std::filesystem::copy(std::filesystem::path(ATTEND_GOLDEN_HEADS) / "cross-encoder", path(),
                          std::filesystem::copy_options::recursive);
  }
  const std::filesystem::path& path() const { return folder_.path(); }
  TextModel load() const { return TextModel::load(path().string()); }

  void replace(const std::string& name, const std::string& what, const std::string& with) const {
    std::ostringstream text;
    text << std::ifstream(folder_ / name).rdbuf();
    std::string changed = text.str();
    const std::size_t place = changed.find(what);
    ASSERT_NE(place, changed.npos);
    folder_.write(name, changed.replace(place, what.size(), with));
  }

 private:
  TemporaryFolder folder_;
};

const std::vector<TextPair> kPairs{{"where is the bank", "money is in the bank"},
                                   {"where is the bank", ""},
                                   {"the river", {}},
                                   {"a", "the water of the river"}};

TEST(Predict, APairHasTheSameBitsInAnyBatch) {
  const CrossEncoderFiles files;
  const TextModel model = files.load();
  const Tensor scores = model.predict(kPairs);
  ASSERT_EQ(scores.shape(), (Dims{4, 1}));
  for (const std::int64_t tokens : {1, 12, 30})
    EXPECT_TRUE(same_bits(model.predict(kPairs, {.batch_tokens = tokens}), scores)) << tokens;
  for (std::size_t i = 0; i < kPairs.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    EXPECT_TRUE(
        same_bits(model.predict(std::span(kPairs).subspan(i, 1)), scores.view().slice(0, row, row + 1)));
  }
  EXPECT_EQ(model.predict(std::vector<TextPair>{}).shape(), (Dims{0, 1}));
  EXPECT_REFUSES(model.predict(kPairs, {.batch_tokens = 0}), "[predict] batch_tokens is 0");
}

TEST(Predict, TheFunctionIsTheFoldersOrWhatIsAsked) {
  const CrossEncoderFiles files;
  const Tensor logits = files.load().predict(kPairs, {.function = ScoreFunction::identity});
  Tensor sigmoid = copy_of(logits);
  apply(ScoreFunction::sigmoid, sigmoid);
  EXPECT_TRUE(same_bits(files.load().predict(kPairs), sigmoid));
  files.replace("config_sentence_transformers.json", "activation.Sigmoid", "linear.Identity");
  EXPECT_TRUE(same_bits(files.load().predict(kPairs), logits));
  EXPECT_TRUE(same_bits(files.load().predict(kPairs, {.function = ScoreFunction::sigmoid}), sigmoid));
}

TEST(Predict, APromptComesBeforeTheFirstText) {
  const CrossEncoderFiles files;
  const std::vector<TextPair> plain{{"river", "a bank"}}, whole{{"the river", "a bank"}};
  const Tensor expected = files.load().predict(whole);
  EXPECT_TRUE(same_bits(files.load().predict(plain, {.prompt = "the "}), expected));
  files.replace("config_sentence_transformers.json", R"("default_prompt_name": null)",
                R"("default_prompt_name": "query")");
  files.replace("config_sentence_transformers.json", R"("prompts": {})", R"("prompts": {"query": "the "})");
  EXPECT_TRUE(same_bits(files.load().predict(plain), expected));
  EXPECT_TRUE(same_bits(files.load().predict(whole, {.prompt = ""}), expected));
}

TEST(Rank, TheBestComesFirstAndEqualOnesKeepTheirOrder) {
  const CrossEncoderFiles files;
  const TextModel model = files.load();
  const std::vector<std::string_view> passages{"a river", "", "money is in the bank", "a river", ""};
  std::vector<TextPair> pairs;
  for (const std::string_view passage : passages) pairs.push_back({"where is the bank", passage});
  const std::vector<double> scores = values_of(model.predict(pairs));
  const std::vector<RankedPassage> ranked = model.rank("where is the bank", passages);
  ASSERT_EQ(ranked.size(), passages.size());
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    EXPECT_EQ(static_cast<double>(ranked[i].score), scores[static_cast<std::size_t>(ranked[i].index)]);
  }
  for (std::size_t i = 1; i < ranked.size(); ++i) {
    const RankedPassage &better = ranked[i - 1], &worse = ranked[i];
    EXPECT_TRUE(better.score > worse.score || (better.score == worse.score && better.index < worse.index))
        << i;
  }
  EXPECT_TRUE(model.rank("where", {}).empty());
}

TEST(Rank, RefusesSeveralScores) {
  const TemporaryFolder folder;
  std::filesystem::copy(std::filesystem::path(ATTEND_GOLDEN_HEADS) / "bert", folder.path());
  folder.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n");
  const TextModel model = TextModel::load(folder.path().string());
  EXPECT_REFUSES(model.rank("a", {}), "[rank] the model gives 3 scores for a pair");
}

TEST(Predict, AHeadThatDoesNotFitLeavesTheRestOfTheModel) {
  const CrossEncoderFiles files;
  files.replace("config.json", R"("0": "LABEL_0")", R"("0": "no", "1": "yes")");
  const TextModel other = files.load();
  EXPECT_FILE_ERROR(other.predict(kPairs), "classifier.weight",
                    "its shape is (1, 16), but the configuration says (2, 16)");
  EXPECT_FILE_ERROR(other.sequence_head(), "classifier.weight", "its shape is");
  EXPECT_NO_THROW(other.embed(std::vector<std::string_view>{"a river"}));
}

TEST(Predict, AModelWithoutAHeadSaysSo) {
  const CrossEncoderFiles files;
  files.replace("config.json", "BertForSequenceClassification", "BertModel");
  const TextModel model = files.load();
  EXPECT_FALSE(model.sequence_head());
  EXPECT_REFUSES(model.predict(kPairs), "[predict] the model does not score texts");
  EXPECT_REFUSES(model.rank("a", {}), "[rank] the model does not score texts");
}

TEST(Predict, ACheckpointThatIsCutShortLaterIsNotTrusted) {
  const CrossEncoderFiles files;
  const TextModel model = files.load();
  EXPECT_NO_THROW(model.predict(kPairs));
  std::filesystem::resize_file(files.path() / "model.safetensors", 100);
  EXPECT_THROW(model.predict(kPairs), FileError);
}

}  // namespace
}  // namespace attend
