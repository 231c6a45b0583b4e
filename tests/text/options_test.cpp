// Truncation, pairs, special tokens, and what the caller may ask for.
#include <attend/tokenizer.h>
#include <gtest/gtest.h>

#include "support/refuses.h"
#include "text/small_tokenizer.h"

namespace {

using attend::EncodeOptions;
using attend::Encoding;
using attend::Tokenizer;
using attend::test::kSmallWordPiece;
using attend::test::with;
using Ids = std::vector<std::int32_t>;

const Tokenizer& small() {
  static const Tokenizer tokenizer = Tokenizer::from_json(kSmallWordPiece);
  return tokenizer;
}

TEST(TokenizerOptions, TruncationIsTheFilesUnlessTheCallerSaysOtherwise) {
  const std::string text = "a c a c a c a c a c";
  EXPECT_EQ(small().max_length(), 8);
  EXPECT_EQ(small().algorithm(), "WordPiece");
  EXPECT_EQ(small().encode(text).ids, (Ids{1, 2, 6, 2, 6, 2, 6, 2}));
  EXPECT_EQ(small().encode(text).dropped, 3);
  EXPECT_EQ(small().encode(text, {.max_length = 3}).ids, (Ids{1, 2, 6}));
  EXPECT_EQ(small().encode(text, {.max_length = 1}).ids, (Ids{1}));
  EXPECT_EQ(small().encode(text, {.add_special_tokens = false, .max_length = 0}).size(), 0u);
  EXPECT_EQ(small().encode(text, {.truncate = false}).size(), 11u);
  EXPECT_EQ(small().encode(text, {.truncate = false}).dropped, 0);
  EXPECT_EQ(small().encode(text, {.max_length = 100}).size(), 11u);
}

TEST(TokenizerOptions, FromTheLeft) {
  const Tokenizer tokenizer = Tokenizer::from_json(with(kSmallWordPiece, "Right", "Left"));
  const Encoding encoding = tokenizer.encode("a c a c !", {.max_length = 3});
  EXPECT_EQ(encoding.ids, (Ids{1, 6, 7}));
  EXPECT_EQ(encoding.offsets[1], (attend::TextSpan{6, 7}));
  EXPECT_EQ(encoding.words, (Ids{-1, 3, 4}));
}

TEST(TokenizerOptions, OfAPairTheLongerGivesFirst) {
  const auto sizes = [](const Encoding& encoding) {
    const auto second = std::count(encoding.type_ids.begin(), encoding.type_ids.end(), 1);
    return std::pair<std::int64_t, std::int64_t>(static_cast<std::int64_t>(encoding.size()) - 1 - second,
                                                 second);
  };
  EXPECT_EQ(sizes(small().encode("a", "a a a a a a a a a")), std::pair(1l, 6l));
  EXPECT_EQ(sizes(small().encode("a a a a a a a a a", "a a")), std::pair(5l, 2l));
  EXPECT_EQ(sizes(small().encode("a a a a a a a", "a a a a a a a a a")), std::pair(3l, 4l));
}

TEST(TokenizerOptions, WhatCannotBeDoneIsRefused) {
  EXPECT_REFUSES(small().encode("a", {.max_length = 0}),
                 "[tokenizer] max_length is 0, but 1 special tokens are added");
  EXPECT_REFUSES(small().encode("a", {.max_length = -1}), "max_length is -1");
  EXPECT_REFUSES(small().decode(Ids{2, 8}), "[tokenizer] no token has the id 8; ids go from 0 to 7");
  EXPECT_REFUSES(small().decode(Ids{-1}), "no token has the id -1");
  const Tokenizer first = Tokenizer::from_json(with(kSmallWordPiece, "LongestFirst", "OnlyFirst"));
  EXPECT_REFUSES(first.encode("a a", "c c c c c c c c c"),
                 "the first text alone is to be truncated, by 4 tokens, and has 2");
  EXPECT_EQ(first.encode("c c c c c c c c", "a a").size(), 8u);
  const Tokenizer second = Tokenizer::from_json(with(kSmallWordPiece, "LongestFirst", "OnlySecond"));
  EXPECT_REFUSES(second.encode("a a a a a a a a"), "only a second text may be truncated, and there is none");
}

TEST(TokenizerOptions, SpecialTokensAreOptional) {
  const Encoding with_them = small().encode("ab c");
  EXPECT_EQ(with_them.special, (std::vector<std::uint8_t>{1, 0, 0}));
  EXPECT_EQ(with_them.offsets[0], attend::TextSpan{});
  EXPECT_EQ(small().encode("ab c", {.add_special_tokens = false}).ids, (Ids{4, 6}));
  EXPECT_EQ(small().decode(with_them.ids, true), "ab c");
  EXPECT_EQ(small().decode(with_them.ids, false), "[CLS] ab c");
  EXPECT_EQ(small().special_count(false), 1);
  EXPECT_EQ(small().decode({}), "");
}

// The cache of words belongs to the thread, so two tokenizers on it must not see each other's.
TEST(TokenizerOptions, TokenizersDoNotShareWords) {
  const Tokenizer one = Tokenizer::from_json(attend::test::kSmallBpe);
  const Tokenizer other =
      Tokenizer::from_json(with(attend::test::kSmallBpe, R"([["b","c"],"a b",)", R"([["b","c"],)"));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(one.encode("ab").ids, (Ids{4}));
    EXPECT_EQ(other.encode("ab").ids, (Ids{1, 2}));
    EXPECT_EQ(one.encode("abc").ids, (Ids{5}));
  }
}

}  // namespace
