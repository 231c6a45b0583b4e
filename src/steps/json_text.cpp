#include "steps/json_text.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "io/fail.h"
#include "io/utf8.h"
#include "steps/read_text.h"

namespace attend::steps {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kWhiteSpace = " \t\r\n";

// Whether the whole word is a number, of any size. Near enough to JSON's grammar for a message: it differs
// in 007 and 5., which number() tells apart by the reader's verdict.
bool is_number(std::string_view word) {
  const std::size_t first = word.starts_with('-') ? 1 : 0;
  if (first >= word.size() || word[first] < '0' || word[first] > '9') return false;
  double value = 0;
  return std::from_chars(word.data(), word.data() + word.size(), value).ptr == word.data() + word.size();
}

std::string_view checked_text(const std::string& name, std::string_view text) {
  if (text.size() > kMaxLessonBytes) refuse_too_large(name);
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (text.empty()) refuse_lesson(LessonCause::empty, name, "is empty");
  if (text.find_first_not_of(kWhiteSpace) == std::string_view::npos) {
    refuse_lesson(LessonCause::empty, name, "holds nothing but white space");
  }
  const std::size_t bad = io::find_bad_utf8(text);
  if (bad != text.size()) {
    const auto lines = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(bad), '\n');
    refuse_lesson(LessonCause::not_utf8, name, "line ", lines + 1, " is not UTF-8 text");
  }
  return text;
}

}  // namespace

std::string to_string(const Where& where) {
  std::string text(where.key);
  if (where.row > 0) text += " row " + std::to_string(where.row);
  return text;
}

JsonText::JsonText(std::string_view name, std::string_view text)
    : name_(display_name(name)), text_(checked_text(name_, text)), buffer_(text_), reader_(name_, buffer_) {
  check_strings();
  if (text_[place()] != '{') expected("an object in braces", {}, place());
}

double JsonText::number(const Where& where) {
  const std::size_t start = place();
  if (found(start).is_value && !is_number(word(start))) expected("a number", where, start);
  const std::string_view whole = word(start);
  std::string_view digits;
  try {
    digits = reader_.number_word("");
  } catch (const FileError&) {  // it is not a number, or not one that JSON allows
  }
  if (digits.empty() || digits.size() != whole.size()) {
    fail(LessonCause::not_json, start, "expected a number in ", to_string(where), ", found ",
         whole.empty() ? found(start).words : io::shown(whole));
  }
  const std::optional<double> value = io::json_number(digits);
  if (!value) {
    fail(LessonCause::number_range, start, io::shown(digits), " in ", to_string(where),
         " is outside the range of a 64-bit float");
  }
  return *value;
}

bool JsonText::boolean(const Where& where) {
  const std::string_view whole = word(place());
  if (whole != "true" && whole != "false") expected("true or false", where, place());
  return reader_.boolean(where.key);
}

std::string JsonText::string(const Where& where) {
  const std::size_t start = place();
  if (!text_.substr(start).starts_with('"')) expected("a string", where, start);
  try {
    return std::string(reader_.string(where.key));
  } catch (const io::JsonSyntaxError&) {
    fail(LessonCause::not_json, start, "a string in ", to_string(where), " has an escape that is not JSON");
  }
}

std::string_view JsonText::word(std::size_t place) const {
  const std::string_view rest = text_.substr(place);
  return rest.substr(0, rest.find_first_of(" \t\r\n,:[]{}\""));
}

// Lines and columns count from 1, columns in characters, as editors show them.
std::string JsonText::position(std::size_t place) const {
  const std::string_view all = text_.substr(0, place);
  const std::string_view line = all.substr(all.rfind('\n') + 1);  // npos + 1 is 0
  const auto lines = std::count(all.begin(), all.end(), '\n');
  return "line " + std::to_string(lines + 1) + ", column " + std::to_string(io::count_chars(line) + 1);
}

// What stands at a place, in words; characters that start no value are shown as they are.
JsonText::Found JsonText::found(std::size_t place) const {
  const std::string_view rest = text_.substr(place);
  if (rest.empty()) return {"the end of the text", false};
  if (rest.front() == '{') return {"an object", true};
  if (rest.front() == '[') return {"an array", true};
  if (rest.front() == '"') return {"a string", true};
  const std::string_view whole = word(place);
  if (whole == "true" || whole == "false" || whole == "null") return {std::string(whole), true};
  if (is_number(whole)) return {"a number", true};
  return {io::shown(whole.empty() ? rest.substr(0, 1) : whole), false};
}

void JsonText::expected(std::string_view what, const Where& where, std::size_t place) const {
  fail_expected(found(place).is_value ? LessonCause::wrong_type : LessonCause::not_json, what,
                to_string(where), place);
}

void JsonText::fail_expected(LessonCause cause, std::string_view what, std::string_view within,
                             std::size_t place) const {
  fail(cause, place, "expected ", what, within.empty() ? "" : " in ", within, ", found ", found(place).words);
}

void JsonText::fail_at(const io::JsonSyntaxError& error) const {
  if (error.in_string()) {
    fail(LessonCause::not_json, reader_.string_place(), "a key has an escape that is not JSON");
  }
  fail_expected(LessonCause::not_json, error.expected(), error.within(), error.place());
}

// A string that is not closed makes nonsense of all that follows, so it is looked for first.
void JsonText::check_strings() const {
  const std::size_t none = text_.size();
  std::size_t opening = none;
  for (std::size_t place = 0; place < text_.size(); ++place) {
    const char c = text_[place];
    if (opening == none) {
      if (c == '"') opening = place;
    } else if (c == '"') {
      opening = none;
    } else if (c == '\\' && place + 1 < text_.size() &&
               (text_[place + 1] == '"' || text_[place + 1] == '\\')) {
      ++place;
    } else if (c == '\n' || c == '\r') {
      fail(LessonCause::not_json, opening, "a string is not closed on its line");
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fail(LessonCause::not_json, place, "a string holds a bare control character, ", io::shown({&c, 1}));
    }
  }
  if (opening != none) fail(LessonCause::not_json, opening, "a string is never closed");
}

}  // namespace attend::steps
