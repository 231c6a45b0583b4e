// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+ in code: about ten times the
// speed.
#include <array>

#include "io/utf8.h"
#include "text/pattern.h"
#include "text/unicode.h"

namespace attend::text {
namespace {

enum Kind : std::uint8_t { kLetters, kNumbers, kSpaces, kOthers };

Kind kind_of(char32_t c) {
  const unsigned flags = char_flags(c);
  return flags & kLetter ? kLetters : flags & kNumber ? kNumbers : flags & kWhite ? kSpaces : kOthers;
}

class Gpt2Pattern final : public Pattern {
 public:
  Gpt2Pattern() {
    for (char32_t c = 0; c < 128; ++c) ascii_[c] = kind_of(c);
  }

  void find(std::string_view text, std::size_t begin, std::size_t end, std::vector<Match>& matches,
            Allowance&) const override {
    const std::string_view inside = text.substr(0, end);
    while (begin < end) {
      const std::size_t stop = word_end(inside, begin);
      matches.push_back({begin, stop});
      begin = stop;
    }
  }

 private:
  Kind next_kind(std::string_view text, std::size_t& at) const {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte >= 0x80) return kind_of(io::next_char(text, at));
    ++at;
    return ascii_[byte];
  }

  // Where the run of one kind ends that goes on at `at`.
  std::size_t run_end(std::string_view text, std::size_t at, Kind kind) const {
    while (at < text.size()) {
      std::size_t next = at;
      if (next_kind(text, next) != kind) break;
      at = next;
    }
    return at;
  }

  static std::size_t contraction(std::string_view text) {
    for (const std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
      if (text.starts_with(ending)) return ending.size();
    }
    return 0;
  }

  std::size_t word_end(std::string_view text, std::size_t begin) const {
    if (text[begin] == '\'') {
      if (const std::size_t size = contraction(text.substr(begin))) return begin + size;
    }
    std::size_t at = begin;
    Kind kind = next_kind(text, at);
    if (kind != kSpaces) return run_end(text, at, kind);
    if (text[begin] == ' ' && at < text.size()) {
      std::size_t second = at;
      kind = next_kind(text, second);
      if (kind != kSpaces) return run_end(text, second, kind);
    }
    // White space: all of it at the end of the text, else all but its last character, if there are two.
    std::size_t last = begin;
    while (at < text.size()) {
      std::size_t next = at;
      if (next_kind(text, next) != kSpaces) return last == begin ? at : last;
      last = at;
      at = next;
    }
    return at;
  }

  std::array<Kind, 128> ascii_;
};

}  // namespace

const Pattern& gpt2_pattern() {
  static const Gpt2Pattern pattern;
  return pattern;
}

}  // namespace attend::text
