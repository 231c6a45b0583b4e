// A JSON text read front to back, where every refusal says the line and the column. Hides simdjson's error
// codes; what the values mean is up to the caller.
#pragma once

#include <simdjson.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "steps/lesson_error.h"

namespace attend::steps {

using JsonValue = simdjson::ondemand::value;

// What a value belongs to: a key, and a row of it, counted from 1 (0 = no row in particular).
struct Where {
  std::string_view key;
  std::int64_t row = 0;
};
std::string to_string(const Where& where);  // "x row 2"

// Each value must be read exactly once, in order, by one of the functions below. They all throw LessonError.
class JsonText {
 public:
  // Refuses what is empty, too large, no UTF-8, or no object. A byte order mark is skipped.
  JsonText(std::string_view name, std::string_view text);
  JsonText(const JsonText&) = delete;
  JsonText& operator=(const JsonText&) = delete;

  // field(key, place of the key, value) for each field of the object; refuses anything after the object.
  template <class Field>
  void for_each_field(Field field);

  // element(value) for each element of an array; `what` is such an array in words, "an array of rows".
  template <class Element>
  void for_each_element(JsonValue array, std::string_view what, const Where& where, Element element);

  double number(JsonValue value, const Where& where);
  bool boolean(JsonValue value, const Where& where);
  std::string string(JsonValue value, const Where& where);

  // The characters at a place up to the next white space or punctuation.
  std::string_view word(const char* place) const;
  static const char* place_of(JsonValue value) { return value.raw_json_token().data(); }

  // "name: line 3, column 14: ..."
  template <class... Parts>
  [[noreturn]] void fail(LessonCause cause, const char* place, const Parts&... parts) const {
    refuse_lesson(cause, name_, position(place), ": ", parts...);
  }

 private:
  struct Found {
    std::string words;
    bool is_value;  // a JSON value, though perhaps not the one that was expected
  };

  std::string_view text() const { return std::string_view(buffer_).substr(1, size_); }
  const char* end() const { return text().data() + size_; }
  bool at_end(const char* place) const { return place >= end(); }
  std::string_view before(const char* place) const;
  const char* current_place();
  std::string position(const char* place) const;
  Found found(const char* place) const;
  void index_tokens();
  [[noreturn]] void expected(std::string_view what, const Where& where, const char* place) const;
  [[noreturn]] void expected_punctuation(std::string_view what, const Where& where, const char* place) const;
  [[noreturn]] void fail_expected(LessonCause cause, std::string_view what, const Where& where,
                                  const char* place) const;
  [[noreturn]] void fail_between_fields(const char* place, const char* after_value) const;
  [[noreturn]] void fail_at_bad_bytes() const;
  [[noreturn]] void fail_at_bad_string() const;

  std::string name_;
  std::string buffer_;    // the text in a frame of our own, then padding: see json_text.cpp
  std::size_t size_ = 0;  // of the text alone
  simdjson::ondemand::parser parser_;
  simdjson::ondemand::document document_;
  simdjson::ondemand::object object_;
};

template <class Field>
void JsonText::for_each_field(Field field) {
  const char* after_value = nullptr;
  for (auto result : object_) {
    simdjson::ondemand::field entry;
    if (std::move(result).get(entry) != simdjson::SUCCESS) fail_between_fields(current_place(), after_value);
    const char* const place = entry.key().raw() - 1;  // raw() is past the quote
    std::string_view key;
    if (entry.unescaped_key().get(key) != simdjson::SUCCESS) {
      fail(LessonCause::not_json, place, "a key has an escape that is not JSON");
    }
    field(key, place, entry.value());
    after_value = current_place();
  }
  if (!at_end(current_place())) expected_punctuation("the end of the text", {}, current_place());
}

template <class Element>
void JsonText::for_each_element(JsonValue array, std::string_view what, const Where& where, Element element) {
  const char* const place = place_of(array);
  simdjson::ondemand::array elements;
  if (array.get_array().get(elements) != simdjson::SUCCESS) expected(what, where, place);
  for (auto result : elements) {
    JsonValue value;
    if (std::move(result).get(value) != simdjson::SUCCESS) {
      expected_punctuation("a comma or ]", where, current_place());
    }
    element(value);
  }
}

}  // namespace attend::steps
