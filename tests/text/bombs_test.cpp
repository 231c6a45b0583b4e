// Files of less than a megabyte that would make gigabytes or hours of a short text: refused before it is
// made, by a sentence that names the step.
#include <attend/file_error.h>
#include <attend/tokenizer.h>
#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "io/json_document.h"
#include "support/cpu_time.h"
#include "support/sanitized.h"
#include "text/added_tokens.h"
#include "text/pattern.h"
#include "text/small_tokenizer.h"
#include "text/subword_model.h"

namespace {

using namespace attend::text;
using attend::Tokenizer;
using attend::test::kSmallBpe;
using attend::test::kSmallUnigram;
using attend::test::kSmallWordPiece;
using attend::test::with;

std::string times(std::string_view part, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += part;
  return text;
}

std::string replace_step(std::string_view kind, std::string_view from, std::string_view to) {
  return R"({"type":"Replace","pattern":{")" + std::string(kind) + R"(":")" + std::string(from) +
         R"("},"content":")" + std::string(to) + R"("})";
}

std::string list(const std::string& step, int count) {
  std::string steps = step;
  for (int i = 1; i < count; ++i) steps += "," + step;
  return "[" + steps + "]";
}

std::string with_normalizer(const std::string& json) { return with(kSmallBpe, R"({"type":"NFC"})", json); }
std::string with_normalizers(const std::string& step, int count) {
  return with_normalizer(R"({"type":"Sequence","normalizers":)" + list(step, count) + "}");
}
std::string with_decoder(const std::string& json) {
  return with(kSmallWordPiece, R"({"type":"WordPiece","prefix":"##","cleanup":true})", json);
}
std::string with_pre_tokenizer(const std::string& json) {
  return with(kSmallWordPiece, R"({"type":"BertPreTokenizer"})", json);
}

// The sentence of the refusal, which comes in a fraction of a second.
std::string bomb_refusal(const std::function<void()>& action) {
  const double start = attend::cpu_seconds();
  std::string sentence;
  try {
    action();
    ADD_FAILURE() << "was not refused";
  } catch (const std::invalid_argument& error) {
    sentence = error.what();
  } catch (const attend::FileError& error) {
    sentence = error.what();
  }
  EXPECT_LT(attend::cpu_seconds() - start, attend::kSanitized ? 30 : 2) << sentence;
  return sentence;
}

struct Bomb {
  std::string file, text, sentence;
};

TEST(TokenizerBomb, IsRefusedBeforeItIsMade) {
  const std::string nine(9, 'a'), replacing = replace_step("String", "a", std::string(10, 'a'));
  const std::string isolate =
      R"({"type":"Split","pattern":{"Regex":"."},"behavior":"Isolated","invert":false})";
  const std::string metaspace =
      R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true})";
  const std::string bytes =
      R"({"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":false})";
  const Bomb bombs[] = {
      {with_normalizers(replacing, 8), nine,
       "[tokenizer] normalizer.normalizers[5] (Replace) would make 9000000 bytes of a text of 9, more than "
       "the "
       "1048648 that are allowed"},
      {with_normalizer(replace_step("Regex", "x*", std::string(500'000, 'b'))), nine,
       "normalizer (Replace) would make"},
      {with_normalizers(R"({"type":"Prepend","prepend":")" + std::string(300'000, 'a') + R"("})", 4), "a",
       "(Prepend) would make"},
      {with_normalizer(R"({"type":"Sequence","normalizers":[)" +
                       replace_step("String", "a", times("\\ufdfa", 1000)) + R"(,{"type":"NFKD"}]})"),
       std::string(300, 'a'), "Unicode's normal form would make"},
      {with_pre_tokenizer(R"({"type":"Sequence","pretokenizers":[)" + isolate + "," + metaspace + "," +
                          bytes + "," + bytes + "]}"),
       std::string(120'000, 'a'), "the pre-tokenizer ByteLevel would make"},
  };
  for (const Bomb& bomb : bombs) {
    const Tokenizer tokenizer = Tokenizer::from_json(bomb.file);
    const std::string sentence = bomb_refusal([&] { tokenizer.encode(bomb.text); });
    EXPECT_NE(sentence.find(bomb.sentence), std::string::npos) << sentence;
  }
}

TEST(TokenizerBomb, OfDecodersIsRefused) {
  const std::string step = replace_step("String", "a", std::string(10, 'a'));
  const Tokenizer tokenizer =
      Tokenizer::from_json(with_decoder(R"({"type":"Sequence","decoders":)" + list(step, 8) + "}"));
  EXPECT_EQ(tokenizer.decode(std::vector<std::int32_t>{6}), "c");
  const std::string sentence = bomb_refusal([&] { tokenizer.decode(std::vector<std::int32_t>(9, 2)); });
  EXPECT_NE(sentence.find("decoder.decoders[5] (Replace) would make"), std::string::npos) << sentence;
}

TEST(TokenizerBomb, InTheFileIsRefusedWhenItIsRead) {
  // A name that stands for many ids, many times.
  std::string ids = "[1", tokens = "[\"[CLS]\"";
  for (int i = 1; i < 4000; ++i) {
    ids += ",1";
    tokens += ",\"\"";
  }
  const std::string special = R"({"SpecialToken":{"id":"[CLS]","type_id":0}})";
  std::string many = with(kSmallWordPiece, R"("ids":[1],"tokens":["[CLS]"])",
                          "\"ids\":" + ids + "],\"tokens\":" + tokens + "]");
  many = with(many, R"("single":[)" + special, R"("single":[)" + times(special + ",", 2000) + special);
  EXPECT_NE(bomb_refusal([&] { Tokenizer::from_json(many); }).find("adds more than 4096 special tokens"),
            std::string::npos);

  // Added tokens that the normalizer makes longer and longer.
  std::string added =
      R"({"id":10,"content":"aaaa","single_word":false,"lstrip":false,"rstrip":false,"normalized":true,"special":false})";
  for (int i = 11; i < 60; ++i)
    added +=
        "," + with(with(added.substr(0, added.find('}') + 1), "\"id\":10", "\"id\":" + std::to_string(i)),
                   "aaaa", "aaaa" + std::to_string(i));
  const std::string long_ones = with(with_normalizers(replace_step("String", "a", std::string(30, 'a')), 3),
                                     "\"added_tokens\":[", "\"added_tokens\":[" + added);
  const std::string sentence = bomb_refusal([&] { Tokenizer::from_json(long_ones, "t.json"); });
  EXPECT_NE(sentence.find("t.json: added_tokens: normalizer.normalizers[2] (Replace) would make"),
            std::string::npos)
      << sentence;

  EXPECT_NE(bomb_refusal([&] {
              Tokenizer::from_json(with_normalizers(R"({"type":"NFD"})", 1001));
            }).find("has 1001 elements, more than the 1000"),
            std::string::npos);
}

// Time instead of memory: each would take minutes.
class SlowBomb : public testing::Test {
 protected:
  std::string stopped(const std::function<void(Allowance&)>& action) {
    return bomb_refusal([&] {
      Allowance allowance(1000, std::chrono::milliseconds(20));
      action(allowance);
    });
  }
  std::string stopped(const Pattern& pattern, const std::string& text) {
    return stopped([&](Allowance& allowance) {
      std::vector<Match> matches;
      pattern.find(text, 0, text.size(), matches, allowance);
    });
  }
  std::string stopped(const SubwordModel& model, const std::string& word) {
    return stopped([&](Allowance& allowance) {
      std::vector<Token> tokens;
      model.tokenize(word, tokens, allowance);
    });
  }
  attend::io::JsonValue json(const std::string& text) { return documents_.emplace_back("bomb", text).root(); }

  const std::string long_a_ = std::string(400'000, 'a');
  std::deque<attend::io::JsonDocument> documents_;
};

TEST_F(SlowBomb, OfAnExpressionIsStopped) {
  const attend::io::JsonValue where = json("{}");
  // Looks at the rest of the text from every place.
  EXPECT_EQ(stopped(*compile_pattern(where, "\\s+$"), std::string(600'000, ' ') + "x"),
            "[tokenizer] the expression \"\\s+$\" takes too many steps on this text of 1000 bytes");
  // Backtracks from every place, a little less than is allowed for one.
  EXPECT_NE(stopped(*compile_pattern(where, "(?:a|a|a|a){8}c"), long_a_ + "bc").find("takes too many steps"),
            std::string::npos);
}

TEST_F(SlowBomb, OfTokensAsLongAsTheTextIsStopped) {
  const std::string word(390'000, 'a');
  EXPECT_EQ(
      stopped(*read_model(json(R"({"type":"WordPiece","unk_token":"a","continuing_subword_prefix":"##",)"
                               R"("max_input_chars_per_word":1000000,"vocab":{"a":0,"##a":1,"##)" +
                               long_a_ + R"(":2}})")),
              word),
      "[tokenizer] WordPiece takes too many steps on this text of 1000 bytes");
  EXPECT_EQ(stopped(*read_model(json(R"({"type":"Unigram","unk_id":0,"vocab":[["?",0],["a",-2],[")" +
                                     long_a_ + R"(",-1]]})")),
                    word),
            "[tokenizer] Unigram takes too many steps on this text of 1000 bytes");
  const AddedTokens added({{.content = long_a_, .id = 1, .normal = {}}}, nullptr);
  EXPECT_EQ(stopped([&](Allowance& allowance) {
              Pieces pieces;
              pieces.allowance = &allowance;
              added.extract(word, nullptr, pieces);
            }),
            "[tokenizer] the search for added tokens takes too many steps on this text of 1000 bytes");
}

// The prefix of characters within a word is walked once, however long it is and however many there are.
TEST_F(SlowBomb, OfALongPrefixIsNone) {
  const auto model = read_model(json(R"({"type":"BPE","continuing_subword_prefix":")" + long_a_ +
                                     R"(","vocab":{"a":0,")" + long_a_ + R"(b":1},"merges":[]})"));
  std::vector<Token> tokens;
  Allowance allowance(100'000);
  model->tokenize("a" + std::string(99'999, 'b'), tokens, allowance);
  EXPECT_EQ(tokens.size(), 100'000u);
}

// What real files do with real text stays allowed.
TEST(TokenizerBomb, IsNotSeenInOrdinaryGrowth) {
  const Tokenizer korean =
      Tokenizer::from_json(with_normalizer(R"({"type":"NFD"})"));  // three bytes to nine, then to eighteen
  EXPECT_GT(korean.encode(times("\uac01", 200'000), {.truncate = false}).size(), 0u);
  const Tokenizer ligatures =
      Tokenizer::from_json(with_normalizer(R"({"type":"NFKD"})"));  // three bytes to thirty-three
  EXPECT_GT(ligatures.encode(times("\ufdfa", 20'000), {.truncate = false}).size(), 0u);
  const Tokenizer llama = Tokenizer::from_json(with_normalizers(replace_step("String", " ", "▁"), 1));
  EXPECT_GT(llama.encode(std::string(400'000, ' '), {.truncate = false}).size(), 0u);
}

}  // namespace
