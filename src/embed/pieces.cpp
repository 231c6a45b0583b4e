#include "embed/pieces.h"

#include <algorithm>
#include <utility>

#include "io/utf8.h"

namespace attend::embed {
namespace {

// A text of UTF-8, and the byte at which each of its characters begins.
class Characters {
 public:
  explicit Characters(std::string_view text) : text_(text) {
    for (std::size_t at = 0; at < text.size();) {
      starts_.push_back(at);
      io::next_char(text, at);
    }
    starts_.push_back(text.size());
  }

  std::string_view between(std::int32_t begin, std::int32_t end) const {
    const std::size_t first = starts_[static_cast<std::size_t>(begin)];
    return text_.substr(first, starts_[static_cast<std::size_t>(end)] - first);
  }

 private:
  std::string_view text_;
  std::vector<std::size_t> starts_;  // in bytes; the last is the end of the text
};

// The last token before `end` at which a word begins, if that is not too far back.
std::size_t word_boundary(const Encoding& tokens, std::size_t begin, std::size_t end) {
  for (std::size_t cut = end; cut > begin + (end - begin) / 2; --cut) {
    if (tokens.words[cut] != tokens.words[cut - 1]) return cut;
  }
  return end;
}

}  // namespace

std::vector<TextPiece> pieces_of(const TextModel& model, std::string_view text, std::int64_t max_tokens,
                                 Overflow overflow) {
  std::vector<TextPiece> pieces;
  Encoding whole = model.encode(text, max_tokens);
  if (whole.dropped == 0 || overflow == Overflow::truncate) {
    pieces.push_back({std::move(whole)});
    return pieces;
  }
  if (overflow == Overflow::error) return pieces;

  const Encoding all = model.tokenizer().encode(
      text, {.add_special_tokens = false, .truncate = false, .lower_case = model.files().lower_case});
  const Characters characters(text);
  const std::int64_t room = std::max<std::int64_t>(1, max_tokens - model.tokenizer().special_count());
  for (std::size_t begin = 0; begin < all.size();) {
    std::int64_t most = room;
    for (;;) {
      std::size_t end = std::min(all.size(), begin + static_cast<std::size_t>(most));
      if (end < all.size()) end = word_boundary(all, begin, end);
      const std::int32_t first = all.offsets[begin].begin, last = all.offsets[end - 1].end;
      Encoding tokens = model.encode(characters.between(first, std::max(first, last)), max_tokens);
      // A piece by itself may have one token more than within the text.
      if (tokens.dropped > 0 && most > 1) {
        most = std::max<std::int64_t>(1, most - tokens.dropped);
        continue;
      }
      pieces.push_back({std::move(tokens), first});
      begin = end;
      break;
    }
  }
  return pieces;
}

}  // namespace attend::embed
