// How a lesson is refused: one sentence that begins with the file's name, and a cause from a closed list.
#pragma once

#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace attend::steps {

enum class LessonCause : std::uint8_t {
  unreadable,        // missing, a directory, no permission
  too_large,         // more bytes, rows or labels than a lesson may have
  empty,             // nothing, or nothing but white space
  not_utf8,          // bytes that are not text
  not_json,          // text that is not JSON
  wrong_type,        // valid JSON, but a string where a number belongs
  number_range,      // a number that no double can hold
  bad_value,         // the right type, but heads = 2.5 or positions = "sideways"
  unknown_key,       // a key that means nothing here
  duplicate_key,     // the same key twice
  missing_key,       // a key that another one needs
  conflicting_keys,  // keys that exclude each other
  ragged_rows,       // rows of one matrix that differ in length
  empty_matrix,      // no rows, or no columns
  size_mismatch,     // sizes of two keys that do not fit together
  unknown_token,     // a token to focus on that is not there
};

class LessonError : public std::runtime_error {
 public:
  LessonError(LessonCause cause, const std::string& sentence) : std::runtime_error(sentence), cause_(cause) {}
  LessonCause cause() const noexcept { return cause_; }

 private:
  LessonCause cause_;
};

// refuse_lesson(LessonCause::size_mismatch, "vectors.json", "wq has ", 4, " rows, x has ", 3, " columns")
template <class... Parts>
[[noreturn]] void refuse_lesson(LessonCause cause, std::string_view name, const Parts&... parts) {
  std::ostringstream sentence;
  sentence << name << ": ";
  (sentence << ... << parts);
  throw LessonError(cause, sentence.str());
}

}  // namespace attend::steps
