// A place in a regular expression that is being read.
#pragma once

#include <cstddef>
#include <string_view>

#include "io/json_document.h"
#include "io/utf8.h"

namespace attend::text {

struct RegexCursor {
  const io::JsonValue& where;
  std::string_view text;  // valid UTF-8
  std::size_t at = 0;

  bool done() const { return at == text.size(); }
  char peek(std::size_t ahead = 0) const { return at + ahead < text.size() ? text[at + ahead] : '\0'; }
  std::string_view rest() const { return text.substr(at); }

  // Whether this stands here; then it is passed.
  bool take(std::string_view expected) {
    if (!rest().starts_with(expected)) return false;
    at += expected.size();
    return true;
  }

  char32_t next() { return io::next_char(text, at); }  // not at the end

  template <class... Parts>
  [[noreturn]] void unsupported(const Parts&... parts) const {
    where.fail(parts..., " in a regular expression is not supported");
  }
};

inline bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }

// The number that these hexadecimal or octal digits make, or -1.
inline std::int64_t digits_value(std::string_view digits, int base) {
  std::int64_t value = digits.empty() ? -1 : 0;
  for (const char c : digits) {
    const char small = c >= 'A' && c <= 'F' ? static_cast<char>(c + 32) : c;
    const int digit = is_ascii_digit(c) ? c - '0' : small >= 'a' && small <= 'f' ? small - 'a' + 10 : base;
    if (digit >= base || value > 0x10FFFF) return -1;
    value = value * base + digit;
  }
  return value;
}

}  // namespace attend::text
