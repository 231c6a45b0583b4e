// Words chosen by a list or by their kind.
#include <attend/word_kinds.h>

#include <gtest/gtest.h>

#include "support/refuses.h"

namespace attend {
namespace {

constexpr const char* kText =
    "Anna's dog, which she loves, met 3.5 of Peter's CATS in München. He and I saw it!";

std::string chosen(std::string_view list, std::string_view text = kText) {
  std::vector<Word> words;
  words.push_back({.text = "[CLS]", .special = true});
  for (const TextSpan place : split_words(text)) {
    // The places are characters; the text's letters are of one byte but for ü.
    std::string word;
    std::int32_t at = 0;
    for (const char byte : text) {
      const bool first = (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
      if (first) ++at;
      if (at > place.begin && at <= place.end) word += byte;
    }
    words.push_back({.text = word, .place = place});
  }
  words.push_back({.text = "[SEP]", .special = true});
  const std::vector<bool> in = WordKinds(list).in(words);
  std::string names;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (in[i]) names.append(names.empty() ? "" : " ").append(words[i].text);
  }
  return names;
}

TEST(WordKinds, KindsOfWords) {
  EXPECT_EQ(chosen("pronoun"), "she He I it");
  EXPECT_EQ(chosen("preposition,conjunction"), "of in and");
  EXPECT_EQ(chosen("name"), "Peter's CATS München") << "neither at the start of a sentence nor I";
  EXPECT_EQ(chosen("number"), "3.5");
  EXPECT_EQ(chosen("punctuation"), ", , . !");
  EXPECT_EQ(chosen("special"), "[CLS] [SEP]");
  EXPECT_EQ(chosen("word", "The cat, 3 of them."), "The cat 3 of them");
  EXPECT_EQ(chosen("article", "A cat and the dog"), "A the");
}

TEST(WordKinds, ListsOfWords) {
  EXPECT_EQ(chosen("cats,MÜNCHEN,dog"), "dog CATS München");
  EXPECT_EQ(chosen("it,name"), "Peter's CATS München it");
  EXPECT_EQ(chosen("=number", "the Number of a number: 7"), "Number number");
  EXPECT_EQ(chosen("absent"), "");
  EXPECT_EQ(WordKinds("it,he").text(), "it,he");
}

TEST(WordKinds, EmptyItemsAreRefused) {
  for (const char* const list : {"", ",", "it,", ",it", "a,,b", "="})
    EXPECT_REFUSES(WordKinds{list},
                   "has an empty item: expected words or kinds of words, such as it,he or pronoun");
}

}  // namespace
}  // namespace attend
