// tokenizer.json files that somebody got wrong, or made to hurt.
#include <attend/file_error.h>
#include <attend/tokenizer.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "support/sanitized.h"
#include "text/small_tokenizer.h"

namespace {

using attend::FileError;
using attend::Tokenizer;
using namespace attend::test;

struct BadFile {
  std::string json, where, rule;
};

std::string word_piece(std::string_view part, std::string_view replacement) {
  return with(kSmallWordPiece, part, replacement);
}
std::string bpe(std::string_view part, std::string_view replacement) {
  return with(kSmallBpe, part, replacement);
}
std::string unigram(std::string_view part, std::string_view replacement) {
  return with(kSmallUnigram, part, replacement);
}

// The file with another normalizer, pre-tokenizer, post-processor or decoder.
std::string normalizer(std::string_view json) { return bpe(R"({"type":"NFC"})", json); }
std::string pre_tokenizer(std::string_view json) {
  return word_piece(R"({"type":"BertPreTokenizer"})", json);
}
std::string processor(std::string_view json) {
  return unigram(R"("post_processor":null)", "\"post_processor\":" + std::string(json));
}
std::string decoder(std::string_view json) {
  return word_piece(R"({"type":"WordPiece","prefix":"##","cleanup":true})", json);
}

const std::vector<BadFile>& bad_files() {
  static const std::vector<BadFile> files = {
      {"", "", "is not JSON"},
      {"{", "", "is not JSON"},
      {"[]", "", "expected an object, found an array"},
      {"{}", "model", "is missing"},
      {std::string(100, '[') + std::string(100, ']'), "", "nested more than 32 deep"},
      {word_piece("1.0", "2.0"), "version", "is \"2.0\""},
      {word_piece("\"version\"", "\"verzion\""), "verzion", "not a key that is supported"},
      {word_piece("\"padding\":null", "\"version\":\"1.0\""), "version", "occurs twice"},
      {word_piece("\"padding\":null", "\"padding\":{\"how\":1}"), "padding.how", "not a key"},
      {word_piece("\"max_length\":8", "\"max_length\":-8"), "truncation.max_length", "is -8"},
      {word_piece("\"max_length\":8", "\"max_length\":8.5"), "truncation.max_length", "whole number"},
      {word_piece("\"max_length\":8", "\"max_length\":0"), "truncation",
       "less than the number of special tokens"},
      {word_piece("LongestFirst", "Longest"), "truncation.strategy", "\"Longest\" is not one of"},
      {word_piece("Right", "Up"), "truncation.direction", "neither Left nor Right"},
      {word_piece("\"stride\":0", "\"stride\":-1"), "truncation.stride", "is -1"},
      {word_piece("\"id\":1,\"content\"", "\"id\":-1,\"content\""), "added_tokens[0].id", "is -1"},
      {word_piece("\"id\":1,\"content\"", "\"id\":99999999,\"content\""), "added_tokens[0].id",
       "is 99999999"},
      {word_piece("\"id\":1,\"content\"", "\"id\":2,\"content\""), "added_tokens[0]",
       "but 1 in the vocabulary"},
      {word_piece("\"content\":\"[CLS]\"", "\"content\":\"new\""), "added_tokens[0]",
       "which is that of \"[CLS]\""},
      {word_piece("\"content\":\"[CLS]\"", "\"content\":\"\""), "added_tokens[0]", "has no content"},
      {word_piece("\"lstrip\":false,", ""), "added_tokens[0].lstrip", "is missing"},
      {word_piece("\"lstrip\":false", "\"lstrip\":0"), "added_tokens[0].lstrip", "expected true or false"},
      {word_piece("BertNormalizer", "MyNormalizer"), "normalizer",
       "the normalizer \"MyNormalizer\" is not supported"},
      {word_piece("\"lowercase\":true", "\"lowercase\":1"), "normalizer.lowercase",
       "expected true or false, found a number"},
      {normalizer(R"({"type":"ByteLevel"})"), "normalizer", "\"ByteLevel\" is not supported"},
      {normalizer(R"({"type":"NFC","form":1})"), "normalizer.form", "not a key"},
      {normalizer(R"({"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"X"}]})"),
       "normalizer.normalizers[1]", "\"X\""},
      {normalizer(R"({"type":"Replace","pattern":{"Regex":"("},"content":""})"), "normalizer.pattern.Regex",
       "is not a regular expression"},
      {normalizer(R"({"type":"Replace","pattern":{"Regex":"\\Xx"},"content":""})"),
       "normalizer.pattern.Regex", "\\X in a regular"},
      {normalizer(R"({"type":"Replace","pattern":{"Regex":"[[:alpha:]]"},"content":""})"),
       "normalizer.pattern.Regex", "[[:name:]] in a regular"},
      {normalizer(R"({"type":"Replace","pattern":{"Regex":"(?s)a"},"content":""})"),
       "normalizer.pattern.Regex", "the group \"(?s\""},
      {normalizer(R"({"type":"Replace","pattern":{"Regex":"(?i)[\\S]"},"content":""})"),
       "normalizer.pattern.Regex", "class of letters where case is ignored"},
      {normalizer(R"({"type":"Replace","pattern":{"String":""},"content":""})"), "normalizer.pattern.String",
       "is empty"},
      {normalizer(R"({"type":"Replace","pattern":"x","content":""})"), "normalizer.pattern",
       "expected an object"},
      {normalizer(R"({"type":"Precompiled","precompiled_charsmap":"!!!"})"),
       "normalizer.precompiled_charsmap", "is not base64"},
      {normalizer(R"({"type":"Precompiled","precompiled_charsmap":"AAAA"})"),
       "normalizer.precompiled_charsmap", "is cut off"},
      {normalizer(R"({"type":"Precompiled","precompiled_charsmap":"BAAAAAAAAAD/"})"),
       "normalizer.precompiled_charsmap", "not UTF-8"},
      {pre_tokenizer(R"({"type":"UnicodeScripts"})"), "pre_tokenizer", "\"UnicodeScripts\" is not supported"},
      {pre_tokenizer(R"({"pattern":1})"), "pre_tokenizer.type", "is missing"},
      {pre_tokenizer(R"({"type":"Split","pattern":{"String":"x"},"behavior":"Sometimes","invert":false})"),
       "pre_tokenizer.behavior", "\"Sometimes\" is not one of"},
      {pre_tokenizer(R"({"type":"Metaspace","replacement":"ab"})"), "pre_tokenizer.replacement",
       "expected one character"},
      {pre_tokenizer(R"({"type":"Metaspace","replacement":"_","prepend_scheme":"last"})"),
       "pre_tokenizer.prepend_scheme", "\"last\" is not one of"},
      {pre_tokenizer(R"({"type":"Metaspace","replacement":"_","add_prefix_space":false})"), "pre_tokenizer",
       "prepend_scheme is not never"},
      {processor(R"({"type":"Other"})"), "post_processor", "\"Other\" is not supported"},
      {processor(R"({"type":"BertProcessing","sep":["a",2],"cls":["b",77]})"), "post_processor",
       "adds the id 77"},
      {processor(R"({"type":"BertProcessing","sep":["a",2],"cls":["b"]})"), "post_processor.cls",
       "expected a token and its id"},
      {processor(
           R"({"type":"Sequence","processors":[{"type":"BertProcessing","sep":["a",2],"cls":["a",2]},{"type":"ByteLevel"}]})"),
       "post_processor.processors[1]", "comes after"},
      {word_piece(R"({"Sequence":{"id":"A","type_id":0}}])", R"({"Sequence":{"id":"B","type_id":0}}])"),
       "post_processor.single[1].Sequence.id", "one text only"},
      {word_piece(R"("id":"[CLS]","type_id")", R"("id":"[X]","type_id")"),
       "post_processor.single[0].SpecialToken.id", "not among special_tokens"},
      {word_piece(R"(,{"Sequence":{"id":"B","type_id":1}})", ""), "post_processor.pair",
       "uses text B 0 times"},
      {word_piece("\"ids\":[1]", "\"ids\":[1,2]"), "post_processor.special_tokens.[\"[CLS]\"]",
       "another number of ids"},
      {decoder(R"({"type":"CTC"})"), "decoder", "\"CTC\" is not supported"},
      {decoder(R"({"type":"BPEDecoder","suffix":""})"), "decoder.suffix", "is empty"},
      {word_piece("\"type\":\"WordPiece\",\"unk", "\"type\":\"WordLevel\",\"unk"), "model",
       "the model \"WordLevel\" is not supported"},
      {word_piece("\"##b\":3", "\"##b\":-3"), "model.vocab.##b", "is -3"},
      {word_piece("\"##b\":3", "\"##b\":2"), "model.vocab", "\"a\" and \"##b\" both have the id 2"},
      {word_piece("\"##b\":3", "\"a\":3"), "model.vocab.a", "occurs twice"},
      {word_piece("\"##b\":3", "\"##b\":\"3\""), "model.vocab.##b",
       "expected a whole number, found a string"},
      {word_piece("\"##b\":3", "\"##b\":16777215"), "model.vocab", "has 8 tokens but an id of 16777215"},
      {word_piece("\"##b\":3", "\"##b\":18446744073709551616"), "model.vocab.##b",
       "expected a whole number from 0"},
      {word_piece("\"unk_token\":\"[UNK]\"", "\"unk_token\":\"x\""), "model.unk_token",
       "\"x\" is not in the vocabulary"},
      {word_piece("\"vocab\":{", "\"vocab\":[],\"merges\":{"), "model.merges", "not a key"},
      {bpe("\"dropout\":null", "\"dropout\":0.1"), "model.dropout", "by chance is not supported"},
      {bpe("[\"b\",\"c\"]", "[\"b\",\"x\"]"), "model.merges[0]", "\"x\" is not in the vocabulary"},
      {bpe("[\"b\",\"c\"]", "[\"c\",\"b\"]"), "model.merges[0]", "\"cb\" is not in the vocabulary"},
      {bpe("[\"b\",\"c\"]", "[\"b\",\"c\",\"a\"]"), "model.merges[0]", "expected two tokens, found 3"},
      {bpe("\"a b\"", "\"a b c\""), "model.merges[1]", "with a space between"},
      {bpe("\"a b\"", "\"ab\""), "model.merges[1]", "with a space between"},
      {bpe("\"a b\"", "7"), "model.merges[1]", "expected an array"},
      {bpe("\"unk_token\":\"?\"", "\"unk_token\":\"??\""), "model.unk_token", "not in the vocabulary"},
      {bpe("\"continuing_subword_prefix\":null", "\"continuing_subword_prefix\":\"##\""), "model.merges[0]",
       "shorter than the prefix"},
      {unigram("\"unk_id\":0", "\"unk_id\":6"), "model.unk_id", "is 6, expected 0 to 5"},
      {unigram("\"unk_id\":0", "\"unk_id\":null"), "model.unk_id", "is missing"},
      {unigram("[\"a\",-2]", "[\"a\"]"), "model.vocab[2]", "expected a token and its score"},
      {unigram("[\"a\",-2]", "[\"a\",\"-2\"]"), "model.vocab[2]", "expected a token and its score"},
      {unigram("[\"a\",-2]", "[\"ab\",-2]"), "model.vocab", "\"ab\" occurs twice"},
  };
  return files;
}

TEST(BadTokenizerFiles, AreRefusedWithTheirPlaceAndRule) {
  ASSERT_GE(bad_files().size(), 60u);
  for (const BadFile& file : bad_files()) {
    SCOPED_TRACE(file.rule);
    try {
      Tokenizer::from_json(file.json, "bad.json");
      ADD_FAILURE() << "was read";
    } catch (const FileError& error) {
      EXPECT_EQ(error.file(), "bad.json");
      EXPECT_EQ(error.where(), file.where);
      EXPECT_NE(error.rule().find(file.rule), std::string::npos) << error.what();
      EXPECT_LT(std::string_view(error.what()).size(), 300u);
    }
  }
}

// Whatever is read must be usable.
void read_and_use(const std::string& json) {
  try {
    const Tokenizer tokenizer = Tokenizer::from_json(json, "flipped.json");
    const auto encoding = tokenizer.encode("Ab abc, b [CLS]\xC3\xA9 !", {.truncate = false});
    for (const std::int32_t id : encoding.ids) ASSERT_TRUE(id >= 0 && id < tokenizer.vocabulary_size());
    tokenizer.decode(encoding.ids, false);
  } catch (const FileError&) {
  } catch (const std::invalid_argument&) {
  }
}

TEST(BadTokenizerFiles, CutOffAtEveryByte) {
  for (const std::string_view whole : {kSmallWordPiece, kSmallBpe, kSmallUnigram}) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      EXPECT_THROW(Tokenizer::from_json(whole.substr(0, size), "cut.json"), FileError) << size;
    }
    EXPECT_NO_THROW(Tokenizer::from_json(whole, "whole.json"));
  }
}

TEST(BadTokenizerFiles, EveryBitFlipped) {
  for (const std::string_view whole : {kSmallWordPiece, kSmallBpe, kSmallUnigram}) {
    std::string json(whole);
    const std::size_t step = attend::kSanitized ? 3 : 1;
    for (std::size_t bit = 0; bit < 8 * json.size(); bit += step) {
      const auto mask = static_cast<char>(1 << bit % 8);
      json[bit / 8] = static_cast<char>(json[bit / 8] ^ mask);
      read_and_use(json);
      json[bit / 8] = static_cast<char>(json[bit / 8] ^ mask);
    }
  }
}

}  // namespace
