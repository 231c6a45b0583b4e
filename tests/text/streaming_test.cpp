// StreamingDecoder against decode() of the whole, and texts in which special tokens are not to be found.
#include <attend/tokenizer.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/random.h"
#include "io/utf8.h"
#include "support/refuses.h"
#include "support/sanitized.h"

namespace attend {
namespace {

constexpr const char* kTokenizers[] = {"bert",    "bert_cased_added", "clip",       "gpt2_added", "llama",
                                       "llama3",  "nfc_nmt",          "nfd_marks",  "nfkc_strip", "nfkd",
                                       "roberta", "unigram_bytes",    "xlm_roberta"};

Tokenizer golden_tokenizer(const std::string& name) {
  return Tokenizer::load(ATTEND_GOLDEN "/" + name + ".json");
}

// Ids that decode, at random; runs of neighbouring ids make runs of bytes.
std::vector<std::int32_t> random_ids(const Tokenizer& tokenizer, std::uint64_t seed, std::size_t count) {
  std::vector<std::int32_t> ids;
  const auto size = static_cast<std::uint64_t>(tokenizer.vocabulary_size());
  for (std::uint64_t i = 0; ids.size() < count && i < 100 * count; ++i) {
    const bool low = random_bits(seed + 1, i / 7) % 2 == 0;  // where the bytes are
    const auto id =
        static_cast<std::int32_t>(random_bits(seed, i) % (low ? std::min<std::uint64_t>(size, 300) : size));
    if (!tokenizer.token(id).empty()) ids.push_back(id);
  }
  return ids;
}

TEST(StreamingDecoder, PiecesAreTheWhole) {
  for (const char* const name : kTokenizers) {
    const Tokenizer tokenizer = golden_tokenizer(name);
    for (std::uint64_t seed = 0; seed < (kSanitized ? 5 : 40); ++seed) {
      SCOPED_TRACE(std::string(name) + " " + std::to_string(seed));
      const bool skip = seed % 2 == 0;
      const std::vector<std::int32_t> ids = random_ids(tokenizer, seed, 20 + seed * 5);
      StreamingDecoder decoder(tokenizer, skip);
      std::string text;
      for (const std::int32_t id : ids) {
        const std::string piece = decoder.add(id);
        EXPECT_TRUE(io::is_utf8(piece));
        text += piece;
      }
      text += decoder.finish();
      ASSERT_EQ(text, tokenizer.decode(ids, skip));
      EXPECT_EQ(decoder.finish(), "");
    }
  }
}

TEST(StreamingDecoder, GivesTextAsItComes) {
  const Tokenizer tokenizer = golden_tokenizer("gpt2_added");
  const std::vector<std::int32_t> ids = tokenizer.encode("a€b").ids;  // the sign is three bytes
  StreamingDecoder decoder(tokenizer);
  std::vector<std::string> pieces;
  for (const std::int32_t id : ids) pieces.push_back(decoder.add(id));
  EXPECT_EQ(pieces, (std::vector<std::string>{"a", "", "", "€", "b"}));
  EXPECT_EQ(decoder.add(ids[1]), "");
  EXPECT_EQ(decoder.finish(), "\uFFFD");
}

constexpr std::string_view kMarked =
    R"({"version":"1.0","added_tokens":[{"id":0,"content":"<|end|>","single_word":false,"lstrip":false,"rstrip":false,
"normalized":false,"special":true},{"id":1,"content":"<think>","single_word":false,"lstrip":false,"rstrip":false,
"normalized":false,"special":false},{"id":2,"content":"<|Norm|>","single_word":false,"lstrip":false,"rstrip":false,
"normalized":true,"special":true}],"normalizer":{"type":"Lowercase"},"pre_tokenizer":null,"post_processor":null,
"decoder":null,"model":{"type":"Unigram","unk_id":0,"byte_fallback":false,"vocab":[["<|end|>",0.0],["<think>",0.0],
["<|Norm|>",0.0],["<",-1],["|",-1],["e",-1],["n",-1],["d",-1],[">",-1],["é",-1],["o",-1],["r",-1],["m",-1]]}})";

TEST(PlainText, HoldsNoSpecialTokens) {
  const Tokenizer tokenizer = Tokenizer::from_json(kMarked);
  using Ranges = std::vector<std::pair<std::size_t, std::size_t>>;
  const auto ids = [&](std::string_view text, const Ranges& plain) {
    return tokenizer.encode(text, {.plain = plain}).ids;
  };
  const std::vector<std::int32_t> spelled = {3, 4, 5, 6, 7, 4, 8};
  EXPECT_EQ(ids("<|end|>", {}), (std::vector<std::int32_t>{0}));
  EXPECT_EQ(ids("<|end|>", {{0, 7}}), spelled);
  EXPECT_EQ(ids("<|end|>", {{6, 7}}), spelled);  // one character is enough
  EXPECT_EQ(ids("<|end|>", {{0, 1}}), spelled);
  EXPECT_EQ(ids("é<|end|>", {{0, 2}}), (std::vector<std::int32_t>{9, 0}));
  EXPECT_EQ(ids("é<|end|><|end|>", {{2, 9}}), (std::vector<std::int32_t>{9, 3, 4, 5, 6, 7, 4, 8, 0}));
  EXPECT_EQ(ids("<|end|>é<|end|>", {{7, 16}}), (std::vector<std::int32_t>{0, 9, 3, 4, 5, 6, 7, 4, 8}));
  EXPECT_EQ(ids("<think>", {{0, 7}}), (std::vector<std::int32_t>{1}));  // an added token that is not special
  EXPECT_EQ(ids("é<|norm|>", {}), (std::vector<std::int32_t>{9, 2}));   // found in the normalized text
  EXPECT_EQ(ids("é<|NORM|>", {{2, 10}}), (std::vector<std::int32_t>{9, 3, 4, 6, 10, 11, 12, 4, 8}));
  EXPECT_EQ(ids("<|end|>é<|NORM|>", {{9, 17}}), (std::vector<std::int32_t>{0, 9, 3, 4, 6, 10, 11, 12, 4, 8}));
  EXPECT_REFUSES(ids("e", {{0, 2}}), "plain has ranges that are not in the text");
  EXPECT_REFUSES(ids("\xFF", {{0, 1}}), "plain is given with a text that is not UTF-8");
  EXPECT_TRUE(tokenizer.is_special(0) && !tokenizer.is_special(1) && !tokenizer.is_special(5) &&
              !tokenizer.is_special(99));
}

}  // namespace
}  // namespace attend
