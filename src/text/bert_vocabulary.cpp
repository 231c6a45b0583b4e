// BERT's vocab.txt, from before there was a tokenizer.json: one token a line, and a few switches in
// tokenizer_config.json.
#include <attend/file_error.h>

#include <algorithm>

#include "io/utf8.h"
#include "text/parts.h"
#include "text/unicode.h"

namespace attend::text {
namespace {

std::string_view without_white_at_end(std::string_view line) {
  for (std::size_t i = line.size(); i > 0 && is(io::previous_char(line, i), kWhite);)
    line = line.substr(0, i);
  return line;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(without_white_at_end(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

BertNormalizerOptions read_options(std::optional<io::FileText> config) {
  BertNormalizerOptions options;
  if (!config) return options;
  const io::JsonDocument document(*std::move(config));
  const io::JsonValue root = document.root();
  options.lowercase = root.boolean("do_lower_case", true);
  options.handle_chinese_chars = root.boolean("tokenize_chinese_chars", true);
  options.strip_accents = root.boolean("strip_accents", options.lowercase);
  if (const auto type = root.find("tokenizer_class")) {
    const std::string_view name = type->string();
    if (name.find("Bert") == std::string_view::npos) {
      type->fail(io::quoted(name), " needs a tokenizer.json; a vocab.txt alone is read as BERT's");
    }
  }
  return options;
}

}  // namespace

std::shared_ptr<const Tokenizer::Parts> read_bert_vocabulary(const io::FileText& text,
                                                             std::optional<io::FileText> config) {
  const std::string& file = text.name;
  const std::string_view lines(text.memory.get(), text.size);
  if (!io::is_utf8(lines)) throw FileError(file, "", "is not UTF-8");
  std::int64_t duplicate = -1;
  const std::vector<std::string_view> tokens = lines_of(lines);
  if (static_cast<std::int64_t>(tokens.size()) > kMaxId)
    throw FileError(file, "", "has more lines than ids are allowed");
  Vocabulary vocabulary = Vocabulary::from_list(tokens, duplicate);
  if (duplicate >= 0) {
    throw FileError(file, "line " + std::to_string(duplicate + 1),
                    io::quoted(tokens[static_cast<std::size_t>(duplicate)]) + " occurs twice");
  }
  auto parts = std::make_shared<Tokenizer::Parts>();
  parts->normalizer = make_bert_normalizer(read_options(std::move(config)));
  parts->pre_tokenizer = make_bert_pre_tokenizer();
  parts->decoder = make_word_piece_decoder("##", true);
  const auto required = [&](const char* token) {
    const std::int32_t id = vocabulary.find(token);
    if (id < 0) throw FileError(file, "", std::string("has no ") + token);
    return id;
  };
  const std::int32_t unknown = required("[UNK]");
  parts->post_processor = make_bert_processor(required("[CLS]"), required("[SEP]"));
  std::vector<AddedToken> added;
  for (const char* name : {"[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"}) {
    AddedToken token;
    token.content = name;
    token.id = vocabulary.find(name);
    token.special = true;
    if (token.id >= 0) added.push_back(std::move(token));
  }
  parts->added = AddedTokens(std::move(added), nullptr);
  parts->model = make_word_piece(std::move(vocabulary), unknown);
  return parts;
}

}  // namespace attend::text
