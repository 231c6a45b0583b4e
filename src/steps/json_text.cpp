#include "steps/json_text.h"

#include <algorithm>
#include <charconv>
#include <new>
#include <system_error>
#include <utility>

#include "steps/read_text.h"
#include "steps/words.h"

namespace attend::steps {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kWhiteSpace = " \t\r\n";

// simdjson judges whether a document is complete by its last token, before it reads any, so it cannot tell
// "ends early" from "something follows". Inside an array of our own that ends in a token no JSON has, a
// text that ends early runs into that token, and the place where it does is the place to report.
constexpr std::string_view kOpening = "[";
constexpr std::string_view kSentinel = " !]";

// Whether the whole word is a number, of any size. Near enough to JSON's grammar for a message: it differs
// in 007 and 5., which number() tells apart by simdjson's own verdict.
bool is_number(std::string_view word) {
  const std::size_t first = word.starts_with('-') ? 1 : 0;
  if (first >= word.size() || word[first] < '0' || word[first] > '9') return false;
  double value = 0;
  return std::from_chars(word.data(), word.data() + word.size(), value).ptr == word.data() + word.size();
}

}  // namespace

std::string to_string(const Where& where) {
  std::string text(where.key);
  if (where.row > 0) text += " row " + std::to_string(where.row);
  return text;
}

JsonText::JsonText(std::string_view name, std::string_view text) : name_(display_name(name)) {
  if (text.size() > kMaxLessonBytes) refuse_too_large(name_);
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (text.empty()) refuse_lesson(LessonCause::empty, name_, "is empty");
  const std::size_t first = text.find_first_not_of(kWhiteSpace);
  if (first == std::string_view::npos) {
    refuse_lesson(LessonCause::empty, name_, "holds nothing but white space");
  }

  size_ = text.size();
  buffer_.reserve(kOpening.size() + size_ + kSentinel.size() + simdjson::SIMDJSON_PADDING);
  buffer_.append(kOpening).append(text).append(kSentinel);
  index_tokens();

  const char* const start = this->text().data() + first;
  if (*start != '{') expected("an object in braces", {}, start);
  simdjson::ondemand::array wrapper;
  JsonValue value;
  if (document_.get_array().get(wrapper) != simdjson::SUCCESS ||
      (*wrapper.begin()).get(value) != simdjson::SUCCESS ||
      value.get_object().get(object_) != simdjson::SUCCESS) {
    expected("an object in braces", {}, start);
  }
}

// The first pass of simdjson: finds the tokens, and the faults that leave no token behind.
void JsonText::index_tokens() {
  const std::size_t length = buffer_.size();
  buffer_.append(simdjson::SIMDJSON_PADDING, ' ');
  const simdjson::error_code error = parser_.iterate(buffer_.data(), length, buffer_.size()).get(document_);
  if (error == simdjson::MEMALLOC) throw std::bad_alloc();
  if (error == simdjson::SUCCESS) return;
  if (!simdjson::validate_utf8(text().data(), size_)) fail_at_bad_bytes();
  fail_at_bad_string();
}

double JsonText::number(JsonValue value, const Where& where) {
  double result = 0;
  const simdjson::error_code error = value.get_double().get(result);
  if (error == simdjson::SUCCESS) return result;

  const char* const place = place_of(value);
  if (error == simdjson::NUMBER_ERROR) {
    const std::string_view digits = word(place);
    const bool too_far = std::from_chars(digits.data(), digits.data() + digits.size(), result).ec ==
                         std::errc::result_out_of_range;
    if (too_far && is_number(digits)) {
      fail(LessonCause::number_range, place, shown(digits), " in ", to_string(where),
           " is outside the range of a 64-bit float");
    }
    fail(LessonCause::not_json, place, "expected a number in ", to_string(where), ", found ", shown(digits));
  }
  expected("a number", where, place);
}

bool JsonText::boolean(JsonValue value, const Where& where) {
  bool result = false;
  if (value.get_bool().get(result) != simdjson::SUCCESS) expected("true or false", where, place_of(value));
  return result;
}

std::string JsonText::string(JsonValue value, const Where& where) {
  const char* const place = place_of(value);
  std::string_view result;
  const simdjson::error_code error = value.get_string().get(result);
  if (error == simdjson::STRING_ERROR) {
    fail(LessonCause::not_json, place, "a string in ", to_string(where), " has an escape that is not JSON");
  }
  if (error != simdjson::SUCCESS) expected("a string", where, place);
  return std::string(result);
}

std::string_view JsonText::word(const char* place) const {
  if (at_end(place)) return {};
  const std::string_view rest = text().substr(before(place).size());
  return rest.substr(0, rest.find_first_of(" \t\r\n,:[]{}\""));
}

// After an error: the token that caused it. Past the last token simdjson has no place, which is the end.
const char* JsonText::current_place() {
  const char* place = nullptr;
  if (document_.current_location().get(place) != simdjson::SUCCESS) return end();
  return std::min(place, end());
}

std::string_view JsonText::before(const char* place) const {
  return text().substr(0, static_cast<std::size_t>(std::min(place, end()) - text().data()));
}

// Lines and columns count from 1, columns in characters, as editors show them.
std::string JsonText::position(const char* place) const {
  const std::string_view all = before(place);
  const std::string_view line = all.substr(all.rfind('\n') + 1);  // npos + 1 is 0
  const auto lines = std::count(all.begin(), all.end(), '\n');
  const auto characters =
      std::count_if(line.begin(), line.end(), [](char c) { return (c & '\xC0') != '\x80'; });
  return "line " + std::to_string(lines + 1) + ", column " + std::to_string(characters + 1);
}

// What stands at a place, in words; characters that start no value are shown as they are.
JsonText::Found JsonText::found(const char* place) const {
  if (at_end(place)) return {"the end of the text", false};
  if (*place == '{') return {"an object", true};
  if (*place == '[') return {"an array", true};
  if (*place == '"') return {"a string", true};
  const std::string_view whole = word(place);
  if (whole == "true" || whole == "false" || whole == "null") return {std::string(whole), true};
  if (is_number(whole)) return {"a number", true};
  return {shown(whole.empty() ? std::string_view(place, 1) : whole), false};
}

void JsonText::expected(std::string_view what, const Where& where, const char* place) const {
  fail_expected(found(place).is_value ? LessonCause::wrong_type : LessonCause::not_json, what, where, place);
}

void JsonText::expected_punctuation(std::string_view what, const Where& where, const char* place) const {
  fail_expected(LessonCause::not_json, what, where, place);
}

void JsonText::fail_expected(LessonCause cause, std::string_view what, const Where& where,
                             const char* place) const {
  fail(cause, place, "expected ", what, where.key.empty() ? "" : " in ", to_string(where), ", found ",
       found(place).words);
}

// simdjson does not say which of comma, key and colon it missed; what stands before the place tells.
void JsonText::fail_between_fields(const char* place, const char* after_value) const {
  if (place == after_value) expected_punctuation("a comma or }", {}, place);
  const std::string_view all = before(place);
  const char previous = all[all.find_last_not_of(kWhiteSpace)];  // at least the opening brace
  expected_punctuation(previous == '{' || previous == ',' ? "a key in double quotes" : "a colon", {}, place);
}

// simdjson says that a text is no UTF-8, but not where. A line break is never part of a longer character.
void JsonText::fail_at_bad_bytes() const {
  std::size_t line = 1;
  for (std::string_view rest = text();; ++line) {
    const std::string_view one = rest.substr(0, rest.find('\n'));
    if (one.size() == rest.size() || !simdjson::validate_utf8(one.data(), one.size())) break;
    rest.remove_prefix(one.size() + 1);
  }
  refuse_lesson(LessonCause::not_utf8, name_, "line ", line, " is not UTF-8 text");
}

// Nor where a string is not closed, or holds a bare control character.
void JsonText::fail_at_bad_string() const {
  const char* opening = nullptr;
  for (const char* place = text().data(); place != end(); ++place) {
    if (opening == nullptr) {
      if (*place == '"') opening = place;
    } else if (*place == '"') {
      opening = nullptr;
    } else if (*place == '\\' && place + 1 != end() && (place[1] == '"' || place[1] == '\\')) {
      ++place;
    } else if (*place == '\n' || *place == '\r') {
      fail(LessonCause::not_json, opening, "a string is not closed on its line");
    } else if (static_cast<unsigned char>(*place) < 0x20) {
      fail(LessonCause::not_json, place, "a string holds a bare control character, ", shown({place, 1}));
    }
  }
  fail(LessonCause::not_json, opening == nullptr ? end() : opening, "a string is never closed");
}

}  // namespace attend::steps
