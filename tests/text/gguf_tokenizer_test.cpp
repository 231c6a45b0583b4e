// The tokenizers of GGUF files: the small golden ones once more, carried in that form, answer as `tokenizers`
// does; and what such a file may not say.
#include <attend/tokenizer.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/file_error.h"
#include "support/gguf_bytes.h"
#include "support/temporary_folder.h"

namespace attend {
namespace {

struct GoldenTokens {
  std::vector<std::string> texts;
  std::vector<float> scores;
  std::vector<std::int32_t> kinds;
  std::vector<std::string> merges;
};

// What a golden tokenizer.json has, in the order of its ids.
GoldenTokens golden_tokens(const std::string& name) {
  simdjson::dom::parser parser;
  const simdjson::dom::element root = parser.load(std::string(ATTEND_GOLDEN) + "/" + name + ".json");
  GoldenTokens tokens;
  const auto put = [&](std::size_t id, std::string_view text, float score, std::int32_t kind) {
    if (tokens.texts.size() <= id) {
      tokens.texts.resize(id + 1);
      tokens.scores.resize(id + 1, -1e6f);
      tokens.kinds.resize(id + 1, 1);
    }
    tokens.texts[id] = text;
    tokens.scores[id] = score;
    tokens.kinds[id] = kind;
  };
  const simdjson::dom::element vocabulary = root["model"]["vocab"];
  if (vocabulary.is_object()) {
    for (const auto field : vocabulary.get_object()) put(std::uint64_t(field.value), field.key, -1e6f, 1);
  } else {
    std::size_t id = 0;
    for (const auto pair : vocabulary.get_array())
      put(id++, std::string_view(pair.at(0)), static_cast<float>(double(pair.at(1))), 1);
  }
  for (std::string& text : tokens.texts) {
    if (text.size() == 6 && text.starts_with("<0x"))
      tokens.kinds[std::size_t(&text - tokens.texts.data())] = 6;
  }
  if (simdjson::dom::array merges; !root["model"]["merges"].get(merges)) {
    float score = 0;
    for (const auto merge : merges) {
      const std::string left(std::string_view(merge.at(0))), right(std::string_view(merge.at(1)));
      tokens.merges.push_back(left + " " + right);
      const auto made = std::find(tokens.texts.begin(), tokens.texts.end(), left + right);
      float& known = tokens.scores[std::size_t(made - tokens.texts.begin())];
      known = std::max(known, score--);
    }
  }
  for (const auto added : root["added_tokens"].get_array())
    put(std::uint64_t(added["id"]), std::string_view(added["content"]), 0, 3);
  return tokens;
}

GgufBytes carried(const std::string& model, const GoldenTokens& tokens) {
  GgufBytes file;
  file.string("general.architecture", "llama").string("tokenizer.ggml.model", model);
  file.strings("tokenizer.ggml.tokens", tokens.texts).integers("tokenizer.ggml.token_type", tokens.kinds);
  return file;
}

// Every answer to a single text; `length` is where the golden file truncates.
void expect_golden_answers(const GgufBytes& file, const std::string& name,
                           std::optional<std::int64_t> length = {}) {
  const TemporaryFolder folder;
  const Tokenizer tokenizer = Tokenizer::load(folder.write("tokens.gguf", file.bytes()));
  simdjson::dom::parser parser;
  simdjson::dom::document_stream answers =
      parser.load_many(std::string(ATTEND_GOLDEN) + "/" + name + ".answers.jsonl");
  int count = 0;
  for (auto document : answers) {
    const simdjson::dom::element answer = document.value();
    std::string_view second;
    if (!answer["texts"].at(1).get(second)) continue;
    const std::string_view text = answer["texts"].at(0);
    std::vector<std::int32_t> ids;
    for (const auto id : answer["ids"].get_array())
      ids.push_back(static_cast<std::int32_t>(std::int64_t(id)));
    EXPECT_EQ(tokenizer.encode(text, {.max_length = length}).ids, ids) << text;
    EXPECT_EQ(tokenizer.decode(ids, true), std::string_view(answer["decoded"].at(1))) << text;
    ++count;
  }
  EXPECT_EQ(count, 31);
}

TEST(GgufTokenizer, ByteLevelBpe) {
  const GoldenTokens tokens = golden_tokens("llama3");
  GgufBytes file = carried("gpt2", tokens);
  file.string("tokenizer.ggml.pre", "llama-bpe").strings("tokenizer.ggml.merges", tokens.merges);
  file.u32("tokenizer.ggml.bos_token_id", 700);
  expect_golden_answers(file, "llama3");
}

TEST(GgufTokenizer, PiecesWithScores) {
  const GoldenTokens tokens = golden_tokens("llama");
  GgufBytes file = carried("llama", tokens);
  file.floats("tokenizer.ggml.scores", tokens.scores);
  expect_golden_answers(file, "llama");
}

TEST(GgufTokenizer, Unigram) {
  GoldenTokens tokens = golden_tokens("unigram_bytes");
  tokens.kinds[0] = 1;
  GgufBytes file = carried("t5", tokens);
  file.floats("tokenizer.ggml.scores", tokens.scores).u32("tokenizer.ggml.unknown_token_id", 0);
  file.boolean("tokenizer.ggml.add_space_prefix", false)
      .boolean("tokenizer.ggml.remove_extra_whitespaces", false);
  file.boolean("tokenizer.ggml.add_eos_token", false);
  const TemporaryFolder folder;
  const Tokenizer carried_one = Tokenizer::load(folder.write("tokens.gguf", file.bytes()));
  const Tokenizer golden = Tokenizer::load(std::string(ATTEND_GOLDEN) + "/unigram_bytes.json");
  for (const char* const text :
       {"The animal didn't cross", "  two  spaces ", "\xE5\x8C\x97\xE4\xBA\xAC 3,50 \xE2\x82\xAC", "x"})
    EXPECT_EQ(carried_one.encode(text).ids, golden.encode(text).ids) << text;
}

TEST(GgufTokenizer, WordPiece) {
  GoldenTokens tokens = golden_tokens("bert");
  for (std::string& text : tokens.texts) {
    if (text.starts_with('[') && text.ends_with(']')) continue;
    text = text.starts_with("##") ? text.substr(2) : "\xE2\x96\x81" + text;
  }
  GgufBytes file = carried("bert", tokens);
  file.u32("tokenizer.ggml.unknown_token_id", 1).u32("tokenizer.ggml.cls_token_id", 2);
  file.u32("tokenizer.ggml.seperator_token_id", 3);
  expect_golden_answers(file, "bert", 40);
}

TEST(GgufTokenizer, WhatItMayNotSay) {
  const TemporaryFolder folder;
  const auto load = [&](const GgufBytes& file) { Tokenizer::load(folder.write("bad.gguf", file.bytes())); };
  const auto with = [](const std::string& model, const std::vector<std::string>& texts) {
    GgufBytes file;
    file.string("tokenizer.ggml.model", model).strings("tokenizer.ggml.tokens", texts);
    return file;
  };
  EXPECT_FILE_ERROR(load(GgufBytes()), "tokenizer.ggml.model", "is not there");
  EXPECT_FILE_ERROR(load(with("rwkv", {"a"})), "tokenizer.ggml.model",
                    "\"rwkv\" is not a tokenizer that attend supports");
  EXPECT_FILE_ERROR(load(with("llama", {})), "tokenizer.ggml.tokens", "is empty");
  EXPECT_FILE_ERROR(load(with("llama", {"a", "\xFF"})), "tokenizer.ggml.tokens", "token 1 is not UTF-8");
  EXPECT_FILE_ERROR(load(with("gpt2", {"a"})), "tokenizer.ggml.pre", "is not there");
  EXPECT_FILE_ERROR(load(with("gpt2", {"a"}).string("tokenizer.ggml.pre", "new")), "tokenizer.ggml.pre",
                    "\"new\" is not among those that attend supports: gpt-2,");
  const auto gpt2 = [&](const std::vector<std::string>& texts, const std::vector<std::string>& merges) {
    return with("gpt2", texts).string("tokenizer.ggml.pre", "gpt-2").strings("tokenizer.ggml.merges", merges);
  };
  EXPECT_NO_THROW(load(gpt2({"a", "b", "ab"}, {"a b"})));
  EXPECT_FILE_ERROR(load(gpt2({"a", "a"}, {})), "tokenizer.ggml.tokens", "token 1, \"a\", is there twice");
  EXPECT_FILE_ERROR(load(gpt2({"a", "b"}, {"ab"})), "tokenizer.ggml.merges",
                    "merge 0, \"ab\", is not two tokens");
  EXPECT_FILE_ERROR(load(gpt2({"a", "b"}, {"a b"})), "tokenizer.ggml.merges",
                    "is of \"ab\", which is not a token");
  EXPECT_FILE_ERROR(load(gpt2({"a", "b"}, {"a c"})), "tokenizer.ggml.merges",
                    "is of \"c\", which is not a token");
  EXPECT_FILE_ERROR(load(gpt2({"a"}, {}).integers("tokenizer.ggml.token_type", {1, 1})),
                    "tokenizer.ggml.token_type", "has 2 numbers for 1 tokens");
  EXPECT_FILE_ERROR(load(gpt2({"a"}, {}).boolean("tokenizer.ggml.add_bos_token", true)),
                    "tokenizer.ggml.bos_token_id", "is not there");
  EXPECT_FILE_ERROR(load(gpt2({"a"}, {})
                             .boolean("tokenizer.ggml.add_bos_token", true)
                             .u32("tokenizer.ggml.bos_token_id", 1)),
                    "tokenizer.ggml.bos_token_id", "is 1, expected a whole number from 0 to 0");
  EXPECT_FILE_ERROR(load(with("llama", {"a", "b"})), "tokenizer.ggml.scores", "is not there");
  EXPECT_FILE_ERROR(load(with("llama", {"a", "b"}).floats("tokenizer.ggml.scores", {1})),
                    "tokenizer.ggml.scores", "has 1 numbers for 2 tokens");
  EXPECT_FILE_ERROR(load(with("llama", {"a", std::string(513, 'x')})
                             .floats("tokenizer.ggml.scores", {0, 0})
                             .boolean("tokenizer.ggml.add_bos_token", false)),
                    "tokenizer.ggml.tokens", "token 1 has 513 bytes");
}

}  // namespace
}  // namespace attend
