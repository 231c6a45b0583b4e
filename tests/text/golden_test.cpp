// Small tokenizers of every kind, and what `tokenizers` answers to a few texts
// (tools/golden/make_tokenizers.py).
#include <attend/tokenizer.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace {

using attend::Encoding;
using attend::Tokenizer;
using simdjson::dom::element;

std::vector<std::int32_t> numbers(element list) {
  std::vector<std::int32_t> values;
  for (const auto value : list.get_array()) values.push_back(static_cast<std::int32_t>(std::int64_t(value)));
  return values;
}

std::vector<std::int32_t> spans(const Encoding& encoding) {
  std::vector<std::int32_t> values;
  for (const auto& span : encoding.offsets) values.insert(values.end(), {span.begin, span.end});
  return values;
}

Encoding encode(const Tokenizer& tokenizer, element texts) {
  const std::string_view first = texts.at(0);
  std::string_view second;
  return texts.at(1).get(second) ? tokenizer.encode(first) : tokenizer.encode(first, second);
}

class TokenizerGolden : public testing::TestWithParam<std::string> {
 protected:
  static std::string path(const std::string& ending) { return ATTEND_GOLDEN "/" + GetParam() + ending; }
};

TEST_P(TokenizerGolden, AnswersAreTheSame) {
  const Tokenizer tokenizer = Tokenizer::load(path(".json"));
  simdjson::dom::parser parser;
  simdjson::dom::document_stream answers = parser.load_many(path(".answers.jsonl"));
  int count = 0;
  for (auto document : answers) {
    const element answer = document.value();
    const element texts = answer["texts"];
    SCOPED_TRACE(simdjson::minify(texts));
    ++count;
    if (element error; !answer["error"].get(error)) {
      EXPECT_THROW(encode(tokenizer, texts), std::invalid_argument) << std::string_view(error);
      continue;
    }
    const Encoding encoding = encode(tokenizer, texts);
    EXPECT_EQ(encoding.ids, numbers(answer["ids"]));
    EXPECT_EQ(encoding.type_ids, numbers(answer["types"]));
    EXPECT_EQ(encoding.words, numbers(answer["words"]));
    EXPECT_EQ(spans(encoding), numbers(answer["spans"]));
    EXPECT_EQ(std::vector<std::int32_t>(encoding.special.begin(), encoding.special.end()),
              numbers(answer["special"]));
    EXPECT_EQ(tokenizer.decode(encoding.ids, false), std::string_view(answer["decoded"].at(0)));
    EXPECT_EQ(tokenizer.decode(encoding.ids, true), std::string_view(answer["decoded"].at(1)));
  }
  EXPECT_EQ(count, 36);
}

TEST_P(TokenizerGolden, TokensAndIdsAreInverse) {
  const Tokenizer tokenizer = Tokenizer::load(path(".json"));
  int count = 0;
  for (std::int64_t id = 0; id < tokenizer.vocabulary_size(); ++id) {
    if (tokenizer.token(id).empty()) continue;
    EXPECT_EQ(tokenizer.id(tokenizer.token(id)), id);
    ++count;
  }
  EXPECT_GT(count, 300);
  EXPECT_EQ(tokenizer.token(-1), "");
  EXPECT_EQ(tokenizer.token(tokenizer.vocabulary_size()), "");
  EXPECT_EQ(tokenizer.id("no such token"), std::nullopt);
}

// Several threads over one tokenizer, each with all texts: what is kept between texts must not mix them up.
TEST_P(TokenizerGolden, ThreadsDoNotDisturbEachOther) {
  const Tokenizer tokenizer = Tokenizer::load(path(".json"));
  std::vector<std::string> texts;
  simdjson::dom::parser parser;
  simdjson::dom::document_stream answers = parser.load_many(path(".answers.jsonl"));
  for (auto document : answers) texts.emplace_back(std::string_view(document.value()["texts"].at(0)));
  const attend::EncodeOptions whole{.truncate = false};
  std::vector<std::vector<std::int32_t>> expected;
  for (const auto& text : texts) expected.push_back(tokenizer.encode(text, whole).ids);
  std::vector<int> wrong(4, 0);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < 3 * texts.size(); ++i) {
        const std::size_t at = (i * (t + 1) + t) % texts.size();
        wrong[t] += tokenizer.encode(texts[at], whole).ids != expected[at];
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

INSTANTIATE_TEST_SUITE_P(All, TokenizerGolden,
                         testing::Values("bert", "bert_cased_added", "clip", "gpt2_added", "llama", "llama3",
                                         "nfc_nmt", "nfd_marks", "nfkc_strip", "nfkd", "roberta",
                                         "unigram_bytes", "xlm_roberta"),
                         [](const auto& test) { return test.param; });

// A golden file that no test reads is of no use.
TEST(TokenizerGoldenFolder, IsTestedWhole) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(ATTEND_GOLDEN))
    files += entry.path().extension() == ".json";
  EXPECT_EQ(files, 13);
}

}  // namespace
