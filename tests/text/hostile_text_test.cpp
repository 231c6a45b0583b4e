// Texts that are long, strange, or no text at all. Time must grow with the length, not with its square.
#include <attend/tokenizer.h>
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>

#include "io/utf8.h"
#include "support/emulated.h"
#include "support/sanitized.h"
#include "text/small_tokenizer.h"

namespace {

using attend::Encoding;
using attend::Tokenizer;

constexpr attend::EncodeOptions kWhole{.truncate = false};

std::string repeated(std::string_view part, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += part;
  return text;
}

class HostileText : public testing::TestWithParam<std::string> {
 protected:
  Tokenizer tokenizer_ = Tokenizer::load(ATTEND_GOLDEN "/" + GetParam() + ".json");

  void check(const std::string& text, const Encoding& encoding) const {
    const auto size = static_cast<std::int32_t>(attend::io::count_chars(text));
    for (std::size_t i = 0; i < encoding.size(); ++i) {
      ASSERT_TRUE(encoding.ids[i] >= 0 && encoding.ids[i] < tokenizer_.vocabulary_size());
      const auto [begin, end] = encoding.offsets[i];
      ASSERT_TRUE(0 <= begin && begin <= end && end <= size) << begin << " " << end << " of " << size;
    }
  }
};

TEST_P(HostileText, LongRunsTakeLinearTime) {
  const bool slow = attend::kSanitized || attend::kEmulated;
  int number = 0;
  for (const std::string_view part : {".", " ", "\u0301", "a", "\u4e2d", "\u00e9", "\xF0\x9F\x91\x8D", "\r\n",
                                      "ab ", "'", "\xFF", "\u200d"}) {
    const std::string text = repeated(part, slow ? 30'000 : number++ < 4 ? 1'000'000 : 100'000);
    const auto start = std::chrono::steady_clock::now();
    const Encoding encoding = tokenizer_.encode(text, kWhole);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    // A few tenths on a quiet machine. A square would be hours.
    EXPECT_LT(seconds.count(), 30) << part;
    if (part != "\xFF") check(text, encoding);
  }
}

TEST_P(HostileText, RandomBytesAreText) {
  std::mt19937 random(7);
  for (int i = 0; i < (attend::kSanitized ? 300 : 3000); ++i) {
    std::string bytes(random() % 40, '\0');
    for (char& byte : bytes)
      byte = static_cast<char>(random() % 3 == 0 ? 0x80 + random() % 128 : random() % 128);
    const Encoding given = tokenizer_.encode(bytes, kWhole);
    const std::string repaired = attend::io::repair_utf8(bytes);
    const Encoding expected = tokenizer_.encode(repaired, kWhole);
    EXPECT_EQ(given.ids, expected.ids);
    EXPECT_EQ(given.offsets, expected.offsets);
    check(repaired, given);
    tokenizer_.decode(given.ids, false);
  }
}

TEST_P(HostileText, EveryCodePointAlone) {
  for (char32_t c = 0; c <= 0x10FFFF; c += attend::kSanitized || attend::kEmulated ? 97 : 11) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string text = "a";
    attend::io::append_char(text, c);
    text += "b";
    check(text, tokenizer_.encode(text, kWhole));
  }
}

INSTANTIATE_TEST_SUITE_P(All, HostileText,
                         testing::Values("bert", "clip", "llama", "llama3", "nfkc_strip", "roberta",
                                         "unigram_bytes", "xlm_roberta"),
                         [](const auto& test) { return test.param; });

TEST(HostileExpression, IsStoppedAndNamed) {
  const Tokenizer tokenizer = Tokenizer::from_json(
      attend::test::with(attend::test::kSmallBpe, R"({"type":"NFC"})",
                         R"({"type":"Replace","pattern":{"Regex":"(a+)+$"},"content":""})"));
  EXPECT_EQ(tokenizer.encode("b").ids, (std::vector<std::int32_t>{2}));
  try {
    tokenizer.encode(std::string(60, 'a') + "b");
    ADD_FAILURE() << "was matched";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("\"(a+)+$\" takes too many steps"), std::string::npos)
        << error.what();
  }
}

}  // namespace
