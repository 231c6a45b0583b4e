// The one reader of JSON of unknown origin: front to back in one pass, in the caller's own buffer. It keeps
// no index of the text, so its memory is what the caller keeps: that of a header with a hundred million
// characters stays within the file's size. json_fields.h and json_document.h keep what it reads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/fail.h"

namespace attend::io {

enum class JsonKind : std::uint8_t { object, array, string, number, boolean, null };
std::string_view name_of(JsonKind kind);  // "an object", "true or false"

// The number nearest to what is written, 0 for what is too small for one; nothing for what is too large.
// `word` is a number as number_word() returns it.
std::optional<double> json_number(std::string_view word);

// The later of two keys that are the same, or nothing. Changes the order of the keys.
const std::string_view* find_repeated(std::vector<std::string_view>& keys);

// Where a text is not JSON: "byte 12: expected a colon, found 'x'", and the same in parts.
class JsonSyntaxError : public FileError {
 public:
  JsonSyntaxError(const FileError& error, std::size_t place, std::string expected, std::string within,
                  bool in_string)
      : FileError(error),
        place_(place),
        expected_(std::move(expected)),
        within_(std::move(within)),
        in_string_(in_string) {}
  std::size_t place() const noexcept { return place_; }               // a byte of the text
  const std::string& expected() const noexcept { return expected_; }  // "a colon"
  const std::string& within() const noexcept { return within_; }      // `where` of the array or object
  bool in_string() const noexcept { return in_string_; }              // or in a key
  std::string sentence() const { return where().empty() ? rule() : rule() + ", at " + where(); }

 private:
  std::size_t place_;
  std::string expected_, within_;
  bool in_string_;
};

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

  // The same for objects of any size whose keys the caller compares.
  template <class Field>
  void fields(std::string_view where, Field field);

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
  std::size_t place();                                              // of the next value, or of what follows
  std::size_t string_place() const noexcept { return string_at_; }  // of the last string's opening quote

 private:
  char peek();  // the next character that is not white space; 0 at the end
  bool take(char wanted);
  void enter(std::string_view where);
  void leave() { --depth_; }
  void literal(std::string_view word);
  unsigned four_digits();
  std::size_t escape(char* out);
  [[noreturn]] void wrong_kind(std::string_view where, std::string_view expected);
  [[noreturn]] void syntax(std::string_view expected, std::string_view within = "", bool in_string = false);

  std::string file_, part_;
  std::span<char> text_;
  std::size_t at_ = 0, string_at_ = 0;
  int depth_ = 0;
};

template <class Field>
void JsonReader::object(std::string_view where, Field field) {
  std::vector<std::string_view> keys;
  fields(where, [&](std::string_view key) {
    if (keys.size() == kMaxFields) fail(file_, where, "has more than ", kMaxFields, " keys");
    keys.push_back(key);
    field(key);
  });
  if (const std::string_view* const twice = find_repeated(keys))
    fail(file_, where, "has the key \"", shown(*twice), "\" twice");
}

template <class Field>
void JsonReader::fields(std::string_view where, Field field) {
  if (kind() != JsonKind::object) wrong_kind(where, "an object");
  enter(where);
  ++at_;
  if (!take('}')) {
    do {
      if (peek() != '"') syntax("a key in double quotes", where);
      const std::string_view key = string(where);
      if (!take(':')) syntax("a colon", where);
      field(key);
    } while (take(','));
    if (!take('}')) syntax("a comma or }", where);
  }
  leave();
}

template <class Element>
void JsonReader::array(std::string_view where, Element element) {
  if (kind() != JsonKind::array) wrong_kind(where, "an array");
  enter(where);
  ++at_;
  if (!take(']')) {
    do element();
    while (take(','));
    if (!take(']')) syntax("a comma or ]", where);
  }
  leave();
}

}  // namespace attend::io
