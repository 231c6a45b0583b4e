#include "io/json_reader.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <system_error>

#include "io/utf8.h"

namespace attend::io {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// How many characters at the start of a text stand for themselves in a string: no quote, no backslash and no
// control character. Eight at a time: in each byte of `found` the highest bit says whether it is one of them,
// up to the first that is.
std::size_t plain_length(std::string_view text) {
  std::size_t at = 0;
  if constexpr (std::endian::native == std::endian::little) {
    constexpr std::uint64_t kOnes = 0x0101010101010101, kHighest = 0x8080808080808080;
    for (std::uint64_t eight = 0; text.size() - at >= sizeof eight; at += sizeof eight) {
      std::memcpy(&eight, text.data() + at, sizeof eight);
      const auto below = [](std::uint64_t bytes, std::uint64_t limit) {
        return (bytes - kOnes * limit) & ~bytes & kHighest;
      };
      const std::uint64_t found =
          below(eight, 0x20) | below(eight ^ kOnes * '"', 1) | below(eight ^ kOnes * '\\', 1);
      if (found != 0) return at + static_cast<std::size_t>(std::countr_zero(found)) / 8;
    }
  }
  while (at < text.size() && text[at] != '"' && text[at] != '\\' &&
         static_cast<unsigned char>(text[at]) >= 0x20) {
    ++at;
  }
  return at;
}

// Of a number that no double comes near: whether it is too small for one, rather than too large.
bool is_tiny(std::string_view word) {
  if (word.starts_with('-')) word.remove_prefix(1);
  const std::size_t letter = std::min(word.find_first_of("eE"), word.size());
  const std::string_view digits = word.substr(0, letter);
  std::string_view power = word.substr(std::min(letter + 1, word.size()));
  if (power.starts_with('+')) power.remove_prefix(1);
  const auto point = static_cast<std::int64_t>(std::min(digits.find('.'), digits.size()));
  const auto first = static_cast<std::int64_t>(digits.find_first_of("123456789"));
  std::int64_t exponent = 0;
  if (std::from_chars(power.data(), power.data() + power.size(), exponent).ec ==
      std::errc::result_out_of_range) {
    return power.starts_with('-');
  }
  return exponent < first - point;  // both far from the limits of their type
}

}  // namespace

std::string_view name_of(JsonKind kind) {
  switch (kind) {
    case JsonKind::object:
      return "an object";
    case JsonKind::array:
      return "an array";
    case JsonKind::string:
      return "a string";
    case JsonKind::number:
      return "a number";
    case JsonKind::boolean:
      return "true or false";
    case JsonKind::null:
      return "null";
  }
  return "";
}

std::optional<double> json_number(std::string_view word) {
  double value = 0;
  if (std::from_chars(word.data(), word.data() + word.size(), value).ec == std::errc()) return value;
  if (is_tiny(word)) return word.starts_with('-') ? -0.0 : 0.0;
  return std::nullopt;
}

const std::string_view* find_repeated(std::vector<std::string_view>& keys) {
  std::sort(keys.begin(), keys.end());
  const auto twice = std::adjacent_find(keys.begin(), keys.end());
  return twice == keys.end() ? nullptr : &*twice;
}

JsonReader::JsonReader(std::string file, std::span<char> text, std::string part)
    : file_(std::move(file)), part_(std::move(part)), text_(text) {
  const std::size_t bad = find_bad_utf8({text.data(), text.size()});
  if (bad == text.size()) return;
  throw JsonSyntaxError(FileError(file_, part_, "byte " + std::to_string(bad) + " is not UTF-8 text"), bad,
                        "UTF-8 text", "", false);
}

char JsonReader::peek() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c != ' ' && c != '\n' && c != '\r' && c != '\t') return c;
    ++at_;
  }
  return 0;
}

bool JsonReader::take(char wanted) {
  if (peek() != wanted || at_ == text_.size()) return false;
  ++at_;
  return true;
}

void JsonReader::enter(std::string_view where) {
  if (++depth_ > kMaxDepth) fail(file_, where, "is nested more than ", kMaxDepth, " deep");
}

JsonKind JsonReader::kind() {
  const char c = peek();
  if (c == '{') return JsonKind::object;
  if (c == '[') return JsonKind::array;
  if (c == '"') return JsonKind::string;
  if (c == '-' || is_digit(c)) return JsonKind::number;
  if (c == 't' || c == 'f') return JsonKind::boolean;
  if (c == 'n') return JsonKind::null;
  syntax("a value");
}

std::size_t JsonReader::place() {
  peek();
  return at_;
}

std::string_view JsonReader::string(std::string_view where) {
  if (kind() != JsonKind::string) wrong_kind(where, "a string");
  string_at_ = at_++;
  char* const begin = text_.data() + at_;
  char* out = begin;
  for (;;) {
    const char* const plain = text_.data() + at_;
    const std::size_t length = plain_length({plain, text_.size() - at_});
    if (out != plain) std::memmove(out, plain, length);
    out += length;
    at_ += length;
    if (at_ == text_.size()) syntax("the end of a string", where, true);
    const char c = text_[at_];
    if (c == '"') {
      ++at_;
      return {begin, static_cast<std::size_t>(out - begin)};
    }
    if (c != '\\') syntax("no bare control character in a string", where, true);
    ++at_;
    out += escape(out);  // an escape is longer than what it stands for
  }
}

// After the backslash. Writes what the escape stands for; returns its length.
std::size_t JsonReader::escape(char* out) {
  if (at_ == text_.size()) syntax("the end of a string", "", true);
  const char c = text_[at_++];
  constexpr std::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
  if (const std::size_t letter = kLetters.find(c); letter != std::string_view::npos) {
    *out = kMeanings[letter];
    return 1;
  }
  if (c != 'u') {
    --at_;
    syntax("an escape that JSON has", "", true);
  }
  const unsigned code = four_digits();
  if (code >= 0xDC00 && code < 0xE000) syntax("a high surrogate before a low one", "", true);
  if (code < 0xD800 || code >= 0xE000) return static_cast<std::size_t>(put_char(code, out));
  if (text_.size() - at_ < 2 || text_[at_] != '\\' || text_[at_ + 1] != 'u')
    syntax("the second half of a surrogate pair", "", true);
  at_ += 2;
  const unsigned low = four_digits();
  if (low < 0xDC00 || low >= 0xE000) syntax("the second half of a surrogate pair", "", true);
  return static_cast<std::size_t>(put_char(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00), out));
}

unsigned JsonReader::four_digits() {
  unsigned code = 0;
  const char* const begin = text_.data() + at_;
  if (text_.size() - at_ < 4 || std::from_chars(begin, begin + 4, code, 16).ptr != begin + 4) {
    syntax("four hexadecimal digits", "", true);
  }
  at_ += 4;
  return code;
}

// A number as JSON's grammar has it: no plus, no leading zeros, digits on both sides of the point.
std::string_view JsonReader::number_word(std::string_view where) {
  if (kind() != JsonKind::number) wrong_kind(where, "a number");
  const std::size_t begin = at_;
  const auto next_is = [&](std::string_view any) {
    return at_ < text_.size() && any.find(text_[at_]) != any.npos;
  };
  const auto digits = [&] {
    if (!next_is("0123456789")) syntax("a digit");
    while (next_is("0123456789")) ++at_;
  };
  if (next_is("-")) ++at_;
  if (next_is("0")) {
    ++at_;
    if (next_is("0123456789")) syntax("no digit after a leading zero");
  } else {
    digits();
  }
  if (next_is(".")) {
    ++at_;
    digits();
  }
  if (next_is("eE")) {
    ++at_;
    if (next_is("+-")) ++at_;
    digits();
  }
  return {text_.data() + begin, at_ - begin};
}

std::int64_t JsonReader::integer(std::string_view where) {
  const std::string_view word = number_word(where);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error == std::errc::result_out_of_range) {
    fail(file_, where, shown(word), " is beyond 64-bit whole numbers");
  }
  if (error != std::errc() || end != word.data() + word.size()) {
    fail(file_, where, "expected a whole number, found ", shown(word));
  }
  return value;
}

double JsonReader::number(std::string_view where) {
  const std::string_view word = number_word(where);
  const std::optional<double> value = json_number(word);
  if (!value) fail(file_, where, shown(word), " is outside the range of a 64-bit float");
  return *value;
}

void JsonReader::literal(std::string_view word) {
  if (!std::string_view(text_.data() + at_, text_.size() - at_).starts_with(word)) syntax("a value");
  at_ += word.size();
}

bool JsonReader::boolean(std::string_view where) {
  if (kind() != JsonKind::boolean) wrong_kind(where, "true or false");
  const bool value = text_[at_] == 't';
  literal(value ? "true" : "false");
  return value;
}

bool JsonReader::null() {
  if (peek() != 'n') return false;
  literal("null");
  return true;
}

void JsonReader::skip(std::string_view where) {
  switch (kind()) {
    case JsonKind::object:
      return object(where, [&](std::string_view) { skip(where); });
    case JsonKind::array:
      return array(where, [&] { skip(where); });
    case JsonKind::string:
      string(where);
      return;
    case JsonKind::number:
      number_word(where);
      return;
    case JsonKind::boolean:
      boolean(where);
      return;
    case JsonKind::null:
      null();
      return;
  }
}

void JsonReader::end() {
  peek();
  if (at_ < text_.size()) syntax("nothing after the last bracket");
}

void JsonReader::wrong_kind(std::string_view where, std::string_view expected) {
  fail(file_, where, "expected ", expected, ", found ", name_of(kind()));
}

void JsonReader::syntax(std::string_view expected, std::string_view within, bool in_string) {
  const std::string place = (part_.empty() ? "byte " : part_ + " byte ") + std::to_string(at_);
  std::string found = "the end of the text";
  if (at_ < text_.size()) {
    const std::string_view rest(text_.data() + at_, text_.size() - at_);
    found = "'" + shown(rest.substr(0, std::max<std::size_t>(1, utf8_length(rest)))) + "'";
  }
  throw JsonSyntaxError(
      FileError(file_, shown(place), "expected " + std::string(expected) + ", found " + found), at_,
      std::string(expected), std::string(within), in_string);
}

}  // namespace attend::io
