#include "io/json_reader.h"

#include <charconv>
#include <cmath>
#include <system_error>

#include "io/utf8.h"

namespace attend::io {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

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

}  // namespace

JsonReader::JsonReader(std::string file, std::span<char> text, std::string part)
    : file_(std::move(file)), part_(std::move(part)), text_(text) {
  const std::size_t bad = find_bad_utf8({text.data(), text.size()});
  if (bad == text.size()) return;
  at_ = bad;
  fail(file_, part_, "byte ", bad, " is not UTF-8 text");
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

std::string_view JsonReader::string(std::string_view where) {
  if (kind() != JsonKind::string) wrong_kind(where, "a string");
  char* const begin = text_.data() + ++at_;
  char* out = begin;
  for (;;) {
    if (at_ == text_.size()) syntax("the end of a string");
    const char c = text_[at_];
    if (static_cast<unsigned char>(c) < 0x20) syntax("no bare control character in a string");
    ++at_;
    if (c == '"') return {begin, static_cast<std::size_t>(out - begin)};
    if (c == '\\') {
      out += escape(out);  // an escape is longer than what it stands for
    } else {
      *out++ = c;
    }
  }
}

// After the backslash. Writes what the escape stands for; returns its length.
std::size_t JsonReader::escape(char* out) {
  if (at_ == text_.size()) syntax("the end of a string");
  const char c = text_[at_++];
  constexpr std::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
  if (const std::size_t letter = kLetters.find(c); letter != std::string_view::npos) {
    *out = kMeanings[letter];
    return 1;
  }
  if (c != 'u') {
    --at_;
    syntax("an escape that JSON has");
  }
  const unsigned code = four_digits();
  if (code >= 0xDC00 && code < 0xE000) syntax("a high surrogate before a low one");
  if (code < 0xD800 || code >= 0xE000) return static_cast<std::size_t>(put_char(code, out));
  if (text_.size() - at_ < 2 || text_[at_] != '\\' || text_[at_ + 1] != 'u')
    syntax("the second half of a surrogate pair");
  at_ += 2;
  const unsigned low = four_digits();
  if (low < 0xDC00 || low >= 0xE000) syntax("the second half of a surrogate pair");
  return static_cast<std::size_t>(put_char(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00), out));
}

unsigned JsonReader::four_digits() {
  unsigned code = 0;
  const char* const begin = text_.data() + at_;
  if (text_.size() - at_ < 4 || std::from_chars(begin, begin + 4, code, 16).ptr != begin + 4) {
    syntax("four hexadecimal digits");
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
  double value = 0;
  if (std::from_chars(word.data(), word.data() + word.size(), value).ec != std::errc() ||
      !std::isfinite(value)) {
    fail(file_, where, shown(word), " is outside the range of a 64-bit float");
  }
  return value;
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

void JsonReader::refuse_repeated(std::string_view where, std::vector<std::string_view>& keys) const {
  std::sort(keys.begin(), keys.end());
  const auto twice = std::adjacent_find(keys.begin(), keys.end());
  if (twice != keys.end()) fail(file_, where, "has the key \"", shown(*twice), "\" twice");
}

void JsonReader::wrong_kind(std::string_view where, std::string_view expected) {
  fail(file_, where, "expected ", expected, ", found ", name_of(kind()));
}

void JsonReader::syntax(std::string_view expected) {
  const std::string place = (part_.empty() ? "byte " : part_ + " byte ") + std::to_string(at_);
  if (at_ >= text_.size()) fail(file_, place, "expected ", expected, ", found the end of the text");
  const std::size_t length = std::max<std::size_t>(1, utf8_length({text_.data() + at_, text_.size() - at_}));
  fail(file_, place, "expected ", expected, ", found '", shown({text_.data() + at_, length}), "'");
}

}  // namespace attend::io
