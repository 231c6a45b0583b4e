// Words as people count them, and finding one.
#include <attend/words.h>

#include <gtest/gtest.h>

namespace attend {
namespace {

std::vector<std::string> texts_of(const std::vector<Word>& words) {
  std::vector<std::string> texts;
  for (const Word& word : words) texts.push_back(word.text);
  return texts;
}

// One token a character: then every word is found.
std::vector<std::string> words_in(std::string_view text) {
  std::vector<TextSpan> tokens;
  for (const TextSpan word : split_words(text)) {
    for (std::int32_t i = word.begin; i < word.end; ++i) tokens.push_back({i, i + 1});
  }
  return texts_of(words_of(text, tokens));
}

using Texts = std::vector<std::string>;

TEST(Words, StandBetweenWhiteSpaceWithoutPunctuation) {
  EXPECT_EQ(words_in("The animal didn't cross the street."),
            (Texts{"The", "animal", "didn't", "cross", "the", "street", "."}));
  EXPECT_EQ(words_in("(well-known, 3.14 or 1,000)\tU.S. x_1"),
            (Texts{"(", "well-known", ",", "3.14", "or", "1,000", ")", "U.S", ".", "x_1"}));
  EXPECT_EQ(words_in("wait... -- 'quoted' a,b it’s"),
            (Texts{"wait", "...", "--", "'", "quoted", "'", "a", ",", "b", "it’s"}));
  EXPECT_EQ(words_in(""), Texts{});
  EXPECT_EQ(words_in(" \n\t "), Texts{});
}

TEST(Words, OfOtherScripts) {
  EXPECT_EQ(words_in("我爱 Paris。"), (Texts{"我", "爱", "Paris", "。"}));
  EXPECT_EQ(words_in("مرحبا بالعالم!"), (Texts{"مرحبا", "بالعالم", "!"}));
  EXPECT_EQ(words_in("नमस्ते दुनिया"), (Texts{"नमस्ते", "दुनिया"}));
  EXPECT_EQ(words_in("caf\u0065\u0301 👩‍👩‍👧🙂 🇫🇷🇩🇪"),
            (Texts{"cafe\u0301", "👩‍👩‍👧", "🙂", "🇫🇷", "🇩🇪"}));
}

TEST(Words, PlacesAreCountedInCharacters) {
  const std::vector<TextSpan> words = split_words("é 我x");
  EXPECT_EQ(words, (std::vector<TextSpan>{{0, 1}, {2, 3}, {3, 4}}));
  EXPECT_EQ(split_words("a\xFF\xFE b").size(),
            3u);  // two bytes that are not text count as one stretch of signs
}

TEST(Words, AreGroupsOfTokens) {
  // " the", " ban", "ks": white space before a word belongs to it, as byte-level tokenizers have it.
  const std::vector<TextSpan> tokens = {{0, 3}, {3, 7}, {7, 9}, {9, 10}};
  const std::vector<Word> words = words_of("the banks.", tokens);
  EXPECT_EQ(texts_of(words), (Texts{"the", "banks", "."}));
  EXPECT_EQ(words[1].first_token, 1);
  EXPECT_EQ(words[1].last_token, 3);
  EXPECT_EQ(words[1].place, (TextSpan{4, 9}));
}

TEST(Words, ThatShareATokenAreOne) {
  const std::vector<TextSpan> tokens = {{0, 2}, {2, 4}, {5, 6}};  // "ab", ".\"", "c"
  EXPECT_EQ(texts_of(words_of("ab.\" c", tokens)), (Texts{"ab", ".\"", "c"}));
  const std::vector<TextSpan> crossing = {{0, 1}, {1, 4}, {5, 6}};  // "a", "b.\"", "c"
  EXPECT_EQ(texts_of(words_of("ab.\" c", crossing)), (Texts{"ab.\"", "c"}));
}

TEST(Words, WithoutTokensAreLeftOut) {
  const std::vector<TextSpan> tokens = {{0, 1}, {4, 5}};
  EXPECT_EQ(texts_of(words_of("a b c", tokens)), (Texts{"a", "c"}));
}

std::vector<Word> list(const Texts& texts) {
  std::vector<Word> words;
  for (const std::string& text : texts) words.push_back({.text = text});
  return words;
}

std::string refusal(const std::vector<Word>& words, std::string_view name) {
  try {
    find_word(words, name);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "none";
}

TEST(FindWord, PrefersTheCaseThatIsWritten) {
  const std::vector<Word> words = list({"The", "bank", "the", "c#", "Ärger"});
  EXPECT_EQ(find_word(words, "the"), 2u);
  EXPECT_EQ(find_word(words, "The"), 0u);
  EXPECT_EQ(find_word(words, "BANK"), 1u);
  EXPECT_EQ(find_word(words, "c#"), 3u);
  EXPECT_EQ(find_word(words, "ärger"), 4u);
  EXPECT_EQ(find_words(words, "the"), (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(find_words(words, "the#2"), (std::vector<std::size_t>{2}));
  EXPECT_TRUE(find_words(words, "nothing").empty());
}

TEST(FindWord, SaysWhatIsCloseOrHowToChoose) {
  const std::vector<Word> words = list({"the", "street", "tired", "the"});
  EXPECT_EQ(refusal(words, "the"), "[lens] \"the\" occurs 2 times; choose one with \"the#1\" to \"the#2\"");
  EXPECT_EQ(find_word(words, "the#2"), 3u);
  EXPECT_EQ(refusal(words, "the#3"), "[lens] \"the\" occurs 2 times, so there is no \"the#3\"");
  EXPECT_EQ(refusal(words, "streat"),
            "[lens] there is no word \"streat\" in the text; close to it: \"street\"");
  EXPECT_EQ(refusal(list({"the", "street"}), "teh"),
            "[lens] there is no word \"teh\" in the text; close to it: \"the\"");
  EXPECT_EQ(refusal(list({"banks", "of"}), "bnak"),
            "[lens] there is no word \"bnak\" in the text; close to it: \"banks\"");
  EXPECT_EQ(refusal(list({"a", "c"}), "b"),
            "[lens] there is no word \"b\" in the text");  // no letter in common
  EXPECT_EQ(refusal(words, "zzz"), "[lens] there is no word \"zzz\" in the text");
  EXPECT_EQ(refusal(words, ""), "[lens] there is no word \"\" in the text");
  EXPECT_NE(refusal(words, std::string(100000, 'x')).find("…"), std::string::npos);
}

}  // namespace
}  // namespace attend
