// tokenizer.json to the parts of a tokenizer.
#include <algorithm>

#include "base/error.h"
#include "io/utf8.h"
#include "text/byte_alphabet.h"
#include "text/parts.h"
#include "text/unicode.h"

namespace attend::text {
namespace {

bool is_white(char32_t c) { return c == kByteSpace || is(c, kWhite); }

// Nothing is ever padded; the section is only checked for what it should be.
void check_padding(const io::JsonValue& padding) {
  padding.only_keys({"strategy", "direction", "pad_to_multiple_of", "pad_id", "pad_type_id", "pad_token"});
}

// Ids that are added around a text must be tokens: somebody will look them up in a table.
void check_ids(const io::JsonValue& where, const Tokenizer::Parts& parts) {
  std::vector<std::int64_t> ids;
  if (parts.post_processor != nullptr) parts.post_processor->ids(ids);
  for (const std::int64_t id : ids) {
    if (!parts.model->vocabulary().has(id) && parts.added.by_id(id) == nullptr) {
      where.fail("adds the id ", id, ", which no token has");
    }
  }
}

std::vector<Tokenizer::Parts::White> white_of_tokens(const Tokenizer::Parts& parts) {
  const Vocabulary& vocabulary = parts.model->vocabulary();
  const std::int64_t size =
      std::max<std::int64_t>(vocabulary.size(), std::int64_t{parts.added.largest_id()} + 1);
  std::vector<Tokenizer::Parts::White> white(static_cast<std::size_t>(size));
  for (std::int64_t id = 0; id < vocabulary.size(); ++id) {
    const auto count = [](std::uint32_t n) {
      return static_cast<std::uint8_t>(std::min<std::uint32_t>(n, 255));
    };
    const std::string_view token = vocabulary.token(id);
    white[static_cast<std::size_t>(id)] = {count(white_at_start(token)), count(white_at_end(token))};
  }
  return white;
}

}  // namespace

std::uint32_t white_at_start(std::string_view token) {
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < token.size() && is_white(io::next_char(token, i));) ++count;
  return count;
}

std::uint32_t white_at_end(std::string_view token) {
  std::uint32_t count = 0;
  for (std::size_t i = token.size(); i > 0 && is_white(io::previous_char(token, i));) ++count;
  return count;
}

std::shared_ptr<const Tokenizer::Parts> read_tokenizer(const io::JsonDocument& document) {
  const io::JsonValue root = document.root();
  root.only_keys({"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer",
                  "post_processor", "decoder", "model"});
  if (const auto version = root.find("version"); version && version->string() != "1.0") {
    version->fail("is ", io::quoted(version->string()), ", expected \"1.0\"");
  }
  auto parts = std::make_shared<Tokenizer::Parts>();
  if (const auto section = root.find("truncation")) parts->truncation = read_truncation(*section);
  if (const auto section = root.find("padding")) check_padding(*section);
  if (const auto section = root.find("normalizer")) parts->normalizer = read_normalizer(*section);
  if (const auto section = root.find("pre_tokenizer")) parts->pre_tokenizer = read_pre_tokenizer(*section);
  if (const auto section = root.find("decoder")) parts->decoder = read_decoder(*section);
  parts->model = read_model(root.at("model"));
  if (const auto section = root.find("added_tokens")) {
    try {
      parts->added =
          AddedTokens(read_added_tokens(*section, parts->model->vocabulary()), parts->normalizer.get());
    } catch (const std::invalid_argument& error) {  // the normalizer refuses one of them
      section->fail(plain_sentence(error));
    }
  }
  if (const auto section = root.find("post_processor")) {
    parts->post_processor = read_post_processor(*section);
    check_ids(*section, *parts);
    if (parts->truncation && parts->truncation->max_length < parts->post_processor->added(false)) {
      root.at("truncation").fail("max_length is less than the number of special tokens");
    }
    if (parts->post_processor->trims()) parts->white = white_of_tokens(*parts);
  }
  return parts;
}

}  // namespace attend::text
