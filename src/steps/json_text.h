// The JSON of a lesson, where every refusal says the line and the column: io's reader of JSON, in a lesson's
// words. What the values mean is up to the caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "io/json_reader.h"
#include "steps/lesson_error.h"

namespace attend::steps {

// What a value belongs to: a key, and a row of it, counted from 1 (0 = no row in particular).
struct Where {
  std::string_view key;
  std::int64_t row = 0;
};
std::string to_string(const Where& where);  // "x row 2"

// Values are read in the order in which they stand, each exactly once, by the functions below. A place is a
// byte of the text. All of them throw LessonError.
class JsonText {
 public:
  // Refuses what is empty, too large, not UTF-8, or not an object. A byte order mark is skipped. The text
  // must outlive this.
  JsonText(std::string_view name, std::string_view text);
  JsonText(const JsonText&) = delete;
  JsonText& operator=(const JsonText&) = delete;

  // field(key, place of the key) for each field of the object, which reads its value; refuses anything after
  // the object.
  template <class Field>
  void for_each_field(Field field);

  // element() for each element of an array; `what` is such an array in words, "an array of rows".
  template <class Element>
  void for_each_element(std::string_view what, const Where& where, Element element);

  double number(const Where& where);
  bool boolean(const Where& where);
  std::string string(const Where& where);

  std::size_t place() { return reader_.place(); }  // of the next value
  // The characters at a place up to the next white space or punctuation.
  std::string_view word(std::size_t place) const;

  // "name: line 3, column 14: ..."
  template <class... Parts>
  [[noreturn]] void fail(LessonCause cause, std::size_t place, const Parts&... parts) const {
    refuse_lesson(cause, name_, position(place), ": ", parts...);
  }

 private:
  struct Found {
    std::string words;
    bool is_value;  // a JSON value, though perhaps not the one that was expected
  };

  std::string position(std::size_t place) const;
  Found found(std::size_t place) const;
  void check_strings() const;
  [[noreturn]] void expected(std::string_view what, const Where& where, std::size_t place) const;
  [[noreturn]] void fail_expected(LessonCause cause, std::string_view what, std::string_view within,
                                  std::size_t place) const;
  [[noreturn]] void fail_at(const io::JsonSyntaxError& error) const;

  std::string name_;
  std::string_view text_;
  std::string buffer_;  // a copy, which the reader may change
  io::JsonReader reader_;
};

template <class Field>
void JsonText::for_each_field(Field field) {
  try {
    reader_.fields("", [&](std::string_view key) { field(key, reader_.string_place()); });
  } catch (const io::JsonSyntaxError& error) {
    fail_at(error);
  }
  if (const std::size_t end = place(); end != text_.size())
    fail_expected(LessonCause::not_json, "the end of the text", "", end);
}

template <class Element>
void JsonText::for_each_element(std::string_view what, const Where& where, Element element) {
  const std::size_t start = place();
  if (!text_.substr(start).starts_with('[')) expected(what, where, start);
  reader_.array(to_string(where), element);
}

}  // namespace attend::steps
