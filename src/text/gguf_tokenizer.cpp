// The tokenizer that a GGUF file carries. What it does to a text is written down as the sections of a
// tokenizer.json; tokens and merges go straight into their tables.
#include <attend/gguf.h>

#include <algorithm>
#include <string>
#include <utility>

#include "io/base64.h"
#include "io/fail.h"
#include "io/json_document.h"
#include "io/utf8.h"
#include "text/bpe.h"
#include "text/gguf_pipelines.h"
#include "text/gguf_tokens.h"
#include "text/parts.h"
#include "text/unicode.h"

namespace attend::text {
namespace {

// A token that a text of pieces is made of is not longer: finding all ways to put one together takes the
// square of its length.
constexpr std::size_t kLongestPiece = 512;

using Sections = std::vector<std::pair<std::string_view, std::string>>;  // of a tokenizer.json, as JSON

void read_sections(const Gguf& file, const Sections& sections, Tokenizer::Parts& parts) {
  std::string json = "{";
  for (const auto& [name, text] : sections) {
    json.append(json.size() > 1 ? "," : "").append("\"").append(name).append("\":").append(text);
  }
  const io::JsonDocument document(file.file(), json + "}");
  const io::JsonValue root = document.root();
  if (const auto section = root.find("normalizer")) parts.normalizer = read_normalizer(*section);
  if (const auto section = root.find("pre_tokenizer")) parts.pre_tokenizer = read_pre_tokenizer(*section);
  if (const auto section = root.find("decoder")) parts.decoder = read_decoder(*section);
  if (const auto section = root.find("post_processor")) parts.post_processor = read_post_processor(*section);
}

// The beginning and the end that the file says are added to every text; "null" where there are none.
std::string template_of(const GgufTokens& tokens, bool add_bos, bool add_eos, std::int64_t bos = -1,
                        std::int64_t eos = -1) {
  add_bos = tokens.file().boolean(GgufTokens::key("add_bos_token"), add_bos);
  add_eos = tokens.file().boolean(GgufTokens::key("add_eos_token"), add_eos);
  if (!add_bos && !add_eos) return "null";
  std::string special;
  const auto declare = [&](const char* name, std::int32_t id) {
    special.append(special.empty() ? "" : ",")
        .append(
            joined('"', name, "\":{\"id\":\"", name, "\",\"ids\":[", id, "],\"tokens\":[\"", name, "\"]}"));
  };
  if (add_bos) declare("bos", tokens.required_id("bos", bos));
  if (add_eos) declare("eos", tokens.required_id("eos", eos));
  const auto around = [&](const char* text, int type) {
    std::string all;
    if (add_bos) all.append(joined(R"({"SpecialToken":{"id":"bos","type_id":)", type, "}},"));
    all.append(joined(R"({"Sequence":{"id":")", text, R"(","type_id":)", type, "}}"));
    if (add_eos) all.append(joined(R"(,{"SpecialToken":{"id":"eos","type_id":)", type, "}}"));
    return all;
  };
  return joined(R"({"type":"TemplateProcessing","single":[)", around("A", 0), R"(],"pair":[)", around("A", 0),
                ",", around("B", 1), R"(],"special_tokens":{)", special, "}}");
}

// "left right", of which the first may begin with a space.
MergeTable stored_merges(const Gguf& file, const Vocabulary& vocabulary) {
  const std::string where = GgufTokens::key("merges");
  const GgufValue merges = file.at(where);
  constexpr std::uint64_t kMostMerges = std::uint64_t{1} << 24;
  if (merges.count() > kMostMerges)
    io::fail(file.file(), where, "has ", merges.count(), " merges, expected at most ", kMostMerges);
  MergeTable table(static_cast<std::size_t>(merges.count()));
  std::uint32_t rank = 0;
  std::string whole;
  merges.for_each_string([&](std::string_view merge) {
    const std::size_t space = merge.find(' ', 1);
    if (space == std::string_view::npos)
      io::fail(file.file(), where, "merge ", rank, ", ", io::quoted(merge),
               ", is not two tokens with a space between");
    const auto id_of = [&](std::string_view token) {
      const std::int32_t id = vocabulary.find(token);
      if (id < 0)
        io::fail(file.file(), where, "merge ", rank, " is of ", io::quoted(token), ", which is not a token");
      return id;
    };
    const std::string_view left = merge.substr(0, space), right = merge.substr(space + 1);
    whole.assign(left).append(right);
    const std::int32_t left_id = id_of(left), right_id = id_of(right);
    table.insert(left_id, right_id, {rank, id_of(whole)});
    ++rank;
  });
  return table;
}

void read_byte_level_bpe(const GgufTokens& tokens, Tokenizer::Parts& parts) {
  const GgufPipeline& pipeline = pipeline_of(tokens.file());
  read_sections(
      tokens.file(),
      {{"normalizer", std::string(pipeline.normalizer)},
       {"pre_tokenizer", std::string(pipeline.pre_tokenizer)},
       {"decoder", R"({"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true})"},
       {"post_processor", template_of(tokens, pipeline.add_bos, false)}},
      parts);
  Vocabulary vocabulary = tokens.vocabulary();
  MergeTable merges = stored_merges(tokens.file(), vocabulary);
  parts.model = make_bpe(std::move(vocabulary), std::move(merges), {.ignore_merges = pipeline.ignore_merges});
}

// Pieces that control a model, and bytes, are never put together from others.
bool is_merged(GgufTokenKind kind) {
  return kind == GgufTokenKind::normal || kind == GgufTokenKind::user_defined ||
         kind == GgufTokenKind::unused;
}

// Any two tokens merge whose texts make a third one; the higher its score, the sooner.
MergeTable merges_by_score(const GgufTokens& tokens, const Vocabulary& vocabulary) {
  const std::vector<float> scores = tokens.scores();
  std::vector<std::int32_t> order;
  std::size_t most = 0;  // pairs
  for (std::size_t id = 0; id < scores.size(); ++id) {
    if (!is_merged(tokens.kind(id)) || tokens.texts()[id].empty()) continue;
    if (tokens.texts()[id].size() > kLongestPiece)
      io::fail(tokens.file().file(), GgufTokens::key("tokens"), "token ", id, " has ",
               tokens.texts()[id].size(), " bytes, expected at most ", kLongestPiece);
    order.push_back(static_cast<std::int32_t>(id));
    most += io::count_chars(tokens.texts()[id]) - 1;
  }
  const auto score = [&](std::int32_t id) { return scores[static_cast<std::size_t>(id)]; };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int32_t a, std::int32_t b) { return score(a) > score(b); });
  MergeTable table(most);
  std::uint32_t rank = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i > 0 && score(order[i]) != score(order[i - 1])) rank = static_cast<std::uint32_t>(i);
    const std::string_view text = tokens.texts()[static_cast<std::size_t>(order[i])];
    const Trie& trie = vocabulary.trie();
    Trie::Node node = Trie::kRoot;
    for (std::size_t at = 0; at < text.size();) {
      const auto size = static_cast<std::size_t>(io::utf8_size(text[at]));
      node = trie.walk(node, text.substr(at, size));
      at += size;
      if (node == Trie::kNone || at == text.size()) break;
      const std::int32_t left = trie.value(node);
      if (left < 0 || !is_merged(tokens.kind(static_cast<std::size_t>(left)))) continue;
      const std::int32_t right = vocabulary.find(text.substr(at));
      if (right < 0 || !is_merged(tokens.kind(static_cast<std::size_t>(right)))) continue;
      table.insert(left, right, {rank, order[i]});
    }
  }
  return table;
}

void read_sentence_pieces(const GgufTokens& tokens, Tokenizer::Parts& parts) {
  const bool prefix = tokens.file().boolean(GgufTokens::key("add_space_prefix"), true);
  constexpr const char* kReplace = R"({"type":"Replace","pattern":{"String":" "},"content":"▁"})";
  constexpr const char* kRestore =
      R"({"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"})";
  read_sections(
      tokens.file(),
      {{"normalizer",
        prefix
            ? joined(R"({"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"},)", kReplace, "]}")
            : std::string(kReplace)},
       {"decoder", joined(R"({"type":"Sequence","decoders":[)", kRestore,
                          prefix ? R"(,{"type":"Strip","content":" ","start":1,"stop":0})" : "", "]}")},
       {"post_processor", template_of(tokens, true, false, 1, 2)}},
      parts);
  Vocabulary vocabulary = tokens.vocabulary();
  MergeTable merges = merges_by_score(tokens, vocabulary);
  parts.model = make_bpe(
      std::move(vocabulary), std::move(merges),
      {.unknown = tokens.id("unknown", 0).value_or(-1), .fuse_unknown = true, .byte_fallback = true});
}

void read_unigram_pieces(const GgufTokens& tokens, Tokenizer::Parts& parts) {
  const Gguf& file = tokens.file();
  Sections sections = {{"post_processor", template_of(tokens, false, true, -1, 1)}};
  const std::string map = GgufTokens::key("precompiled_charsmap");
  if (file.contains(map)) {
    std::string bytes;
    for (const std::int64_t byte : file.at(map).integers()) bytes += static_cast<char>(byte);
    if (!bytes.empty())
      sections.emplace_back("normalizer", joined(R"({"type":"Precompiled","precompiled_charsmap":")",
                                                 io::to_base64(bytes), "\"}"));
  }
  const bool prefix = file.boolean(GgufTokens::key("add_space_prefix"), true);
  const std::string metaspace =
      joined(R"({"type":"Metaspace","replacement":"▁","add_prefix_space":)", prefix ? "true" : "false",
             R"(,"prepend_scheme":")", prefix ? "always" : "never", "\"}");
  sections.emplace_back(
      "pre_tokenizer",
      file.boolean(GgufTokens::key("remove_extra_whitespaces"), true)
          ? joined(R"({"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"},)", metaspace, "]}")
          : metaspace);
  sections.emplace_back("decoder", metaspace);
  read_sections(file, sections, parts);
  const std::vector<float> scores = tokens.scores();
  bool has_bytes = false;
  for (std::size_t i = 0; i < scores.size(); ++i) has_bytes |= tokens.kind(i) == GgufTokenKind::byte;
  parts.model = make_unigram(tokens.vocabulary(), {scores.begin(), scores.end()},
                             tokens.required_id("unknown", 2), has_bytes);
}

// A token that begins a word is written with "▁" in front, one that goes on with nothing; BERT has nothing
// and "##". Special ones are as they are.
std::vector<std::string> bert_tokens(const GgufTokens& tokens) {
  constexpr std::string_view kBegins = "▁";
  std::vector<std::string> texts;
  for (const std::string_view text : tokens.texts()) {
    if (text.starts_with(kBegins) && text != kBegins) {
      texts.emplace_back(text.substr(kBegins.size()));
    } else {
      texts.push_back((text.starts_with('[') && text.ends_with(']') ? "" : "##") + std::string(text));
    }
  }
  return texts;
}

void read_bert_tokens(const GgufTokens& tokens, Tokenizer::Parts& parts) {
  const std::vector<std::string> texts = bert_tokens(tokens);
  Vocabulary vocabulary = tokens.vocabulary_of({texts.begin(), texts.end()});
  // Most files do not say whether letters are made small; a vocabulary that has capitals does.
  const bool lowercase =
      tokens.file().boolean(GgufTokens::key("normalizer.lowercase"), vocabulary.find("A") < 0);
  parts.normalizer = make_bert_normalizer({.strip_accents = lowercase, .lowercase = lowercase});
  parts.pre_tokenizer = make_bert_pre_tokenizer();
  parts.decoder = make_word_piece_decoder("##", true);
  const std::int32_t first = tokens.id("cls").value_or(tokens.id("bos", 101).value_or(0));
  parts.post_processor = make_bert_processor(first, tokens.required_id("seperator", 102));
  parts.model = make_word_piece(std::move(vocabulary), tokens.required_id("unknown", 100));
}

}  // namespace

std::shared_ptr<const Tokenizer::Parts> read_gguf_tokenizer(const Gguf& file) {
  const std::string_view model = file.string(GgufTokens::key("model"));
  const GgufTokens tokens(file);
  auto parts = std::make_shared<Tokenizer::Parts>();
  if (model == "gpt2") {
    read_byte_level_bpe(tokens, *parts);
  } else if (model == "llama") {
    read_sentence_pieces(tokens, *parts);
  } else if (model == "t5") {
    read_unigram_pieces(tokens, *parts);
  } else if (model == "bert") {
    read_bert_tokens(tokens, *parts);
  } else {
    io::fail(file.file(), GgufTokens::key("model"), io::quoted(model),
             " is not a tokenizer that attend supports: gpt2, llama, t5, bert");
  }
  parts->added = AddedTokens(tokens.added(), parts->normalizer.get());
  file.require_intact();
  return parts;
}

}  // namespace attend::text
