// JSON of unknown origin, read front to back in one pass, in the caller's own buffer. It keeps no index of
// the text, so its memory is what the caller keeps: that of a header with a hundred million characters stays
// within the file's size.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/fail.h"

namespace attend::io {

enum class JsonKind : std::uint8_t { object, array, string, number, boolean, null };

// Values are read in the order in which they stand, each exactly once, by the function of its type. `where`
// is what a refusal names: a tensor, a key. Throws FileError.
class JsonReader {
 public:
  static constexpr std::size_t kMaxFields = std::size_t{1} << 18;  // of one object
  static constexpr int kMaxDepth = 32;

  // Refuses what is not UTF-8. The text is changed: escapes in strings are resolved where they stand, so that
  // the views which string() returns point into it. `part` is what a place in the text is a byte of,
  // "header".
  JsonReader(std::string file, std::span<char> text, std::string part = "");

  // field(key) for each field, which must read its value. A key that comes twice is refused.
  template <class Field>
  void object(std::string_view where, Field field);

  // element() for each element, which must read it.
  template <class Element>
  void array(std::string_view where, Element element);

  JsonKind kind();  // of the next value
  std::string_view string(std::string_view where);
  std::int64_t integer(std::string_view where);          // digits only: 3, not 3.0
  double number(std::string_view where);                 // finite
  std::string_view number_word(std::string_view where);  // as it is written
  bool boolean(std::string_view where);
  bool null();                        // reads a null, if that is next
  void skip(std::string_view where);  // any value
  void end();                         // nothing may follow but white space

  const std::string& file() const noexcept { return file_; }

 private:
  char peek();  // the next character that is no white space; 0 at the end
  bool take(char wanted);
  void enter(std::string_view where);
  void leave() { --depth_; }
  void literal(std::string_view word);
  unsigned four_digits();
  std::size_t escape(char* out);
  void refuse_repeated(std::string_view where, std::vector<std::string_view>& keys) const;
  [[noreturn]] void wrong_kind(std::string_view where, std::string_view expected);
  [[noreturn]] void syntax(std::string_view expected);

  std::string file_, part_;
  std::span<char> text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

template <class Field>
void JsonReader::object(std::string_view where, Field field) {
  if (kind() != JsonKind::object) wrong_kind(where, "an object");
  enter(where);
  std::vector<std::string_view> keys;
  ++at_;
  if (!take('}')) {
    do {
      if (peek() != '"') syntax("a key in double quotes");
      if (keys.size() == kMaxFields) fail(file_, where, "has more than ", kMaxFields, " keys");
      keys.push_back(string(where));
      if (!take(':')) syntax("a colon");
      field(keys.back());
    } while (take(','));
    if (!take('}')) syntax("a comma or }");
  }
  leave();
  refuse_repeated(where, keys);
}

template <class Element>
void JsonReader::array(std::string_view where, Element element) {
  if (kind() != JsonKind::array) wrong_kind(where, "an array");
  enter(where);
  ++at_;
  if (!take(']')) {
    do element();
    while (take(','));
    if (!take(']')) syntax("a comma or ]");
  }
  leave();
}

}  // namespace attend::io
