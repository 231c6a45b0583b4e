#include "text/json.h"

#include <attend/file_error.h>

#include <algorithm>

#include "io/utf8.h"

namespace attend::text {
namespace {

constexpr std::size_t kMaxDepth = 32;

const char* kind_of(simdjson::dom::element element) {
  switch (element.type()) {
    case simdjson::dom::element_type::ARRAY:
      return "an array";
    case simdjson::dom::element_type::OBJECT:
      return "an object";
    case simdjson::dom::element_type::STRING:
      return "a string";
    case simdjson::dom::element_type::BOOL:
      return "true or false";
    case simdjson::dom::element_type::NULL_VALUE:
      return "null";
    default:
      return "a number";
  }
}

std::string place(std::string_view key) {
  const bool plain = !key.empty() && key.size() < 60 && std::all_of(key.begin(), key.end(), [](char c) {
    return c > ' ' && c < 0x7F && c != '.' && c != '"' && c != '[';
  });
  if (plain) return std::string(key);
  return std::string("[").append(shown(key)).append("]");
}

}  // namespace

std::string shown(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  std::string result = "\"";
  for (std::size_t i = 0; i < text.size();) {
    if (result.size() > kLongest) {
      result += "...";
      break;
    }
    const auto size = static_cast<std::size_t>(io::utf8_size(text[i]));
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 || byte == 0x7F || byte == '"' || byte == '\\') {
      constexpr char kDigits[] = "0123456789ABCDEF";
      result += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    } else {
      result.append(text.substr(i, size));
    }
    i += size;
  }
  return result + "\"";
}

Json::Json(const std::string& file, simdjson::dom::parser& parser, std::string_view bytes) : file_(&file) {
  auto error = parser.allocate(std::max<std::size_t>(bytes.size(), 64), kMaxDepth);
  if (!error) error = parser.parse(bytes.data(), bytes.size(), true).get(element_);
  if (error == simdjson::DEPTH_ERROR) fail("nests deeper than ", kMaxDepth, " levels");
  if (error) fail("is not JSON: ", simdjson::error_message(error));
}

void Json::fail_with(std::string rule) const { throw FileError(*file_, path_, std::move(rule)); }

void Json::fail_type(std::string_view expected) const {
  fail("expected ", expected, ", found ", kind_of(element_));
}

std::string_view Json::string() const {
  std::string_view value;
  if (element_.get(value)) fail_type("a string");
  return value;
}

bool Json::boolean() const {
  bool value = false;
  if (element_.get(value)) fail_type("true or false");
  return value;
}

double Json::number() const {
  double value = 0;
  if (element_.get(value)) fail_type("a number");
  return value;
}

std::int64_t Json::integer(std::int64_t smallest, std::int64_t largest) const {
  std::int64_t value = 0;
  if (element_.get(value)) {
    if (element_.is_number()) fail("expected a whole number from ", smallest, " to ", largest);
    fail_type("a whole number");
  }
  if (value < smallest || value > largest) fail("is ", value, ", expected ", smallest, " to ", largest);
  return value;
}

char32_t Json::character() const {
  const std::string_view text = string();
  std::size_t position = 0;
  const char32_t c = text.empty() ? 0 : io::next_char(text, position);
  if (position != text.size() || text.empty()) fail("expected one character, found ", shown(text));
  return c;
}

simdjson::dom::object Json::object() const {
  simdjson::dom::object value;
  if (element_.get(value)) fail_type("an object");
  return value;
}

simdjson::dom::array Json::array() const {
  simdjson::dom::array value;
  if (element_.get(value)) fail_type("an array");
  return value;
}

std::vector<Json> Json::elements(std::size_t most) const {
  std::vector<Json> values;
  const simdjson::dom::array list = array();
  if (list.size() > most) fail("has ", list.size(), " elements, more than the ", most, " that are allowed");
  for (const auto value : list) values.push_back(element(values.size(), value));
  return values;
}

const Json& Json::only_keys(std::initializer_list<std::string_view> keys) const {
  std::vector<std::string_view> seen;
  for (const auto field : object()) {
    if (std::find(keys.begin(), keys.end(), field.key) == keys.end()) {
      member(field.key, field.value).fail("is not a key that is supported here");
    }
    if (std::find(seen.begin(), seen.end(), field.key) != seen.end()) {
      member(field.key, field.value).fail("occurs twice");
    }
    seen.push_back(field.key);
  }
  return *this;
}

std::optional<Json> Json::find(std::string_view key) const {
  simdjson::dom::element value;
  if (object().at_key(key).get(value) || value.is_null()) return std::nullopt;
  return member(key, value);
}

Json Json::at(std::string_view key) const {
  auto value = find(key);
  if (!value) member(key, element_).fail("is missing");
  return *std::move(value);
}

bool Json::boolean(std::string_view key, bool otherwise) const {
  const auto value = find(key);
  return value ? value->boolean() : otherwise;
}

std::string_view Json::type() const { return at("type").string(); }

bool Json::is_bare(std::string_view expected) const {
  if (type() != expected) return false;
  only_keys({"type"});
  return true;
}

std::string Json::step() const { return path_ + " (" + std::string(type()) + ")"; }

Json Json::member(std::string_view key, simdjson::dom::element element) const {
  return Json(file_, element, path_.empty() ? place(key) : path_ + "." + place(key));
}

Json Json::element(std::size_t index, simdjson::dom::element element) const {
  return Json(file_, element, path_ + "[" + std::to_string(index) + "]");
}

}  // namespace attend::text
