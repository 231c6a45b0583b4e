#include <attend/tokenizer.h>

#include <algorithm>

#include "base/error.h"
#include "base/interrupt.h"
#include "io/utf8.h"
#include "text/lower_case.h"
#include "text/parts.h"

namespace attend {
namespace {

using text::Part;
using text::Piece;
using text::Pieces;
using text::Token;

constexpr std::size_t kMaxTextSize = std::size_t{1} << 30;  // offsets and positions are 32-bit numbers
constexpr std::size_t kKeptScratch = std::size_t{1} << 20;

// Memory that a thread uses for one text after the other.
struct Scratch {
  Pieces pieces;
  std::vector<Token> tokens;
};

class EncodingWork {
 public:
  EncodingWork(const Tokenizer::Parts& parts, Scratch& scratch) : parts_(parts), scratch_(scratch) {}

  Part encode(std::string_view given, std::int32_t type_id, bool lower_case,
              std::span<const std::pair<std::size_t, std::size_t>> plain) {
    if (given.size() >= kMaxTextSize)
      refuse("tokenizer", "a text has ", given.size(), " bytes, more than 2^30");
    const std::vector<TextSpan> plain_characters = characters_of(given, plain);
    std::string repaired;
    if (!io::is_utf8(given)) given = repaired = io::repair_utf8(given);
    if (lower_case) {
      if (!plain.empty()) refuse("tokenizer", "lower_case and plain are both given");
      const text::LowerCase lower(given);
      Part part = encode(lower.text(), type_id, false, {});
      for (TextSpan& span : part.encoding.offsets) span = lower.given(span);
      return part;
    }
    text::Allowance allowance(given.size());
    Pieces& pieces = scratch_.pieces;
    pieces.allowance = &allowance;
    parts_.added.extract(given, parts_.normalizer.get(), pieces, plain_characters);
    if (parts_.pre_tokenizer != nullptr) parts_.pre_tokenizer->apply(pieces);

    if (pieces.other_text.bytes.capacity() > kKeptScratch)
      pieces.other_text = {};  // before tokens take memory
    Part part;
    reserve(part.encoding, given.size() / 3 + 8);
    for (std::size_t word = 0; word < pieces.pieces.size(); ++word) {
      const Piece& piece = pieces.pieces[word];
      if (word % 1024 == 1023) interruption_point();
      scratch_.tokens.clear();
      if (piece.id >= 0) {
        scratch_.tokens.push_back({piece.id, 0, piece.end - piece.begin});
      } else {
        parts_.model->tokenize(
            std::string_view(pieces.text.bytes).substr(piece.begin, piece.end - piece.begin), scratch_.tokens,
            allowance);
        if (!plain_characters.empty()) spell_special(piece, plain_characters, allowance);
      }
      if (word % text::kTokensBetweenLooks == 0) allowance.require_time(parts_.model->algorithm());
      add_tokens(piece, static_cast<std::int32_t>(word), type_id, part);
    }
    pieces.allowance = nullptr;
    return part;
  }

 private:
  // A vocabulary may itself hold a special token as a piece of text: where that is not wanted, its first
  // character and the rest are read by themselves.
  void spell_special(const Piece& piece, std::span<const TextSpan> plain, text::Allowance& allowance) {
    const text::AlignedText& source = scratch_.pieces.text;
    std::vector<Token>& tokens = scratch_.tokens;
    for (std::size_t i = 0; i < tokens.size();) {
      const Token token = tokens[i];
      const auto string =
          std::string_view(source.bytes).substr(piece.begin + token.begin, token.end - token.begin);
      const auto first = string.empty() ? 0 : static_cast<std::uint32_t>(io::utf8_size(string[0]));
      const bool wanted =
          !parts_.added.is_special(string) || parts_.added.by_content(string)->id != token.id ||
          first >= string.size() ||
          !text::has_any_of(plain, source, piece.begin + token.begin, piece.begin + token.end);
      if (wanted) {
        ++i;
        continue;
      }
      std::vector<Token> spelled;
      const auto add = [&](std::uint32_t begin, std::uint32_t end) {
        std::vector<Token> read;
        parts_.model->tokenize(std::string_view(source.bytes).substr(piece.begin + begin, end - begin), read,
                               allowance);
        for (const Token& one : read) spelled.push_back({one.id, begin + one.begin, begin + one.end});
      };
      add(token.begin, token.begin + first);
      add(token.begin + first, token.end);
      tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(i));
      tokens.insert(tokens.begin() + static_cast<std::ptrdiff_t>(i), spelled.begin(), spelled.end());
    }
  }

  // Ranges of bytes of a text as ranges of its characters.
  static std::vector<TextSpan> characters_of(std::string_view given,
                                             std::span<const std::pair<std::size_t, std::size_t>> ranges) {
    std::vector<TextSpan> result;
    if (ranges.empty()) return result;
    if (!io::is_utf8(given)) refuse("tokenizer", "plain is given with a text that is not UTF-8");
    std::size_t at = 0;
    std::int32_t character = 0;
    const auto move_to = [&](std::size_t place) {
      if (place < at || place > given.size())
        refuse("tokenizer", "plain has ranges that are not in the text");
      character += static_cast<std::int32_t>(io::count_chars(given.substr(at, place - at)));
      at = place;
      return character;
    };
    for (const auto& [begin, end] : ranges) {
      const std::int32_t first = move_to(begin);
      result.push_back({first, move_to(end)});
    }
    return result;
  }

  static void reserve(Encoding& encoding, std::size_t size) {
    encoding.ids.reserve(size);
    encoding.offsets.reserve(size);
    encoding.words.reserve(size);
  }

  void add_tokens(const Piece& piece, std::int32_t word, std::int32_t type_id, Part& part) const {
    const text::AlignedText& source = scratch_.pieces.text;
    Encoding& encoding = part.encoding;
    for (const Token& token : scratch_.tokens) {
      encoding.ids.push_back(token.id);
      encoding.offsets.push_back(
          {source.spans[piece.begin + token.begin].begin, source.spans[piece.begin + token.end - 1].end});
      encoding.words.push_back(word);
    }
    encoding.type_ids.resize(encoding.ids.size(), type_id);
    encoding.special.resize(encoding.ids.size(), 0);
    if (parts_.white.empty()) return;
    for (const Token& token : scratch_.tokens) {
      const bool from_text = piece.id >= 0 || token.id == parts_.model->id_without_text();
      const auto string =
          std::string_view(source.bytes).substr(piece.begin + token.begin, token.end - token.begin);
      const auto& white = parts_.white[static_cast<std::size_t>(token.id)];
      part.white_before.push_back(from_text ? text::white_at_start(string) : white.before);
      part.white_after.push_back(from_text ? text::white_at_end(string) : white.after);
    }
  }

  const Tokenizer::Parts& parts_;
  Scratch& scratch_;
};

Encoding encode_all(const Tokenizer::Parts& tokenizer, std::span<const std::string_view> texts,
                    const EncodeOptions& options) {
  thread_local Scratch scratch;
  std::vector<Part> parts;
  EncodingWork work(tokenizer, scratch);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    parts.push_back(
        work.encode(texts[i], static_cast<std::int32_t>(i), options.lower_case,
                    i == 0 ? options.plain : std::span<const std::pair<std::size_t, std::size_t>>()));
  }
  if (scratch.pieces.text.bytes.capacity() > kKeptScratch)
    scratch = Scratch{};  // one huge text is an exception

  if (options.truncate && (options.max_length || tokenizer.truncation)) {
    text::Truncation truncation = tokenizer.truncation.value_or(text::Truncation{});
    if (options.max_length) truncation.max_length = *options.max_length;
    const bool adds = options.add_special_tokens && tokenizer.post_processor != nullptr;
    const std::int64_t added = adds ? tokenizer.post_processor->added(texts.size() == 2) : 0;
    if (truncation.max_length < added) {
      refuse("tokenizer", "max_length is ", truncation.max_length, ", but ", added,
             " special tokens are added");
    }
    text::truncate(parts, truncation, truncation.max_length - added);
  }
  if (tokenizer.post_processor != nullptr) tokenizer.post_processor->apply(parts, options.add_special_tokens);
  Encoding whole = std::move(parts[0].encoding);
  for (std::size_t i = 1; i < parts.size(); ++i) text::append(whole, parts[i].encoding);
  return whole;
}

}  // namespace

Encoding Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  return encode_all(*parts_, {&text, 1}, options);
}

Encoding Tokenizer::encode(std::string_view first, std::string_view second,
                           const EncodeOptions& options) const {
  const std::string_view both[] = {first, second};
  return encode_all(*parts_, both, options);
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids, bool skip_special) const {
  std::vector<std::string> tokens;
  for (const std::int32_t id : ids) {
    std::string_view string;
    if (const text::AddedToken* added = parts_->added.by_id(id)) {
      string = added->normal;
    } else if (parts_->model->vocabulary().has(id)) {
      string = parts_->model->vocabulary().token(id);
    } else {
      refuse("tokenizer", "no token has the id ", id, "; ids go from 0 to ", vocabulary_size() - 1);
    }
    if (!skip_special || !parts_->added.is_special(string)) tokens.emplace_back(string);
  }
  if (tokens.empty()) return {};
  if (parts_->decoder != nullptr) {
    std::size_t given = tokens.size();  // a decoder may put a space before each
    for (const std::string& token : tokens) given += token.size();
    text::Allowance allowance(given);
    parts_->decoder->apply(tokens, allowance);
  }
  std::string whole;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (parts_->decoder == nullptr && i > 0) whole += ' ';
    whole += tokens[i];
  }
  return whole;
}

std::string_view Tokenizer::algorithm() const noexcept { return parts_->model->algorithm(); }

std::int64_t Tokenizer::vocabulary_size() const noexcept {
  return std::max<std::int64_t>(parts_->model->vocabulary().size(),
                                std::int64_t{parts_->added.largest_id()} + 1);
}

std::string_view Tokenizer::token(std::int64_t id) const {
  const text::AddedToken* added = parts_->added.by_id(id);
  return added != nullptr ? std::string_view(added->content) : parts_->model->vocabulary().token(id);
}

std::optional<std::int32_t> Tokenizer::id(std::string_view token) const {
  if (const text::AddedToken* added = parts_->added.by_content(token)) return added->id;
  const std::int32_t id = parts_->model->vocabulary().find(token);
  return id < 0 ? std::nullopt : std::optional(id);
}

std::optional<std::int32_t> Tokenizer::unknown() const noexcept {
  const std::int32_t id = parts_->model->unknown();
  return id < 0 ? std::nullopt : std::optional(id);
}

bool Tokenizer::is_special(std::int64_t id) const {
  const text::AddedToken* const added = parts_->added.by_id(id);
  const bool known = added != nullptr || parts_->model->vocabulary().has(static_cast<std::int32_t>(id));
  return known && parts_->added.is_special(added != nullptr ? std::string_view(added->normal) : token(id));
}

std::optional<std::int64_t> Tokenizer::max_length() const noexcept {
  return parts_->truncation ? std::optional(parts_->truncation->max_length) : std::nullopt;
}

std::int64_t Tokenizer::special_count(bool pair) const noexcept {
  return parts_->post_processor == nullptr ? 0 : parts_->post_processor->added(pair);
}

}  // namespace attend
