#include "io/json_fields.h"

#include <algorithm>
#include <charconv>

namespace attend::io {

namespace {

// Of one file, in all objects and arrays that are opened: far more than any has.
constexpr std::size_t kMostOpened = std::size_t{1} << 16;

}  // namespace

JsonFields::JsonFields(FileText text, const Nested& nested) : JsonFields(std::move(text), nested, {}) {}

JsonFields::JsonFields(FileText text, const Nested& nested, std::span<const std::string_view> opened)
    : text_(std::move(text)) {
  JsonReader json(text_.name, text_.span());
  json.object("", [&](std::string_view key) { read(json, key, nested, opened); });
  json.end();
}

void JsonFields::read(JsonReader& json, std::string_view key, const Nested& nested,
                      std::span<const std::string_view> opened) {
  Value value{.kind = json.kind()};
  if (value.kind != JsonKind::object && value.kind != JsonKind::array) {
    open(json, key, value);
  } else if (std::find(opened.begin(), opened.end(), key) != opened.end()) {
    open(json, key, value);
  } else if (!nested || !nested(json, key)) {
    json.skip(key);
  }
  values_.emplace(key, value);
}

// Reads a value, and what is inside it.
void JsonFields::open(JsonReader& json, std::string_view path, Value& value) {
  const auto inside = [&](std::string_view name) {
    if (paths_.size() == kMostOpened) fail(file(), path, "has more than ", kMostOpened, " values in it");
    const std::string& inner = paths_.emplace_back(std::string(path).append(".").append(name));
    Value element{.kind = json.kind()};
    open(json, inner, element);
    values_.emplace(inner, element);
  };
  switch (value.kind) {
    case JsonKind::string:
      value.text = json.string(path);
      break;
    case JsonKind::number:
      value.text = json.number_word(path);
      break;
    case JsonKind::boolean:
      value.truth = json.boolean(path);
      break;
    case JsonKind::null:
      json.null();
      break;
    case JsonKind::object:
      json.object(path, inside);
      break;
    case JsonKind::array:
      json.array(path, [&] { inside(std::to_string(value.elements++)); });
      break;
  }
}

const JsonFields::Value* JsonFields::find(std::string_view key) const {
  const auto found = values_.find(key);
  return found == values_.end() || found->second.kind == JsonKind::null ? nullptr : &found->second;
}

const JsonFields::Value& JsonFields::require(std::string_view key, JsonKind kind,
                                             const char* expected) const {
  const Value* const value = find(key);
  if (value == nullptr) fail(file(), key, "is missing");
  if (value->kind != kind) fail(file(), key, "expected ", expected);
  return *value;
}

bool JsonFields::has(std::string_view key) const { return find(key) != nullptr; }

bool JsonFields::is_null(std::string_view key) const {
  const auto found = values_.find(key);
  return found != values_.end() && found->second.kind == JsonKind::null;
}

std::int64_t JsonFields::elements(std::string_view key) const {
  const Value* const value = find(key);
  return value == nullptr ? 0 : value->elements;
}

std::int64_t JsonFields::integer(Keys keys, std::int64_t low, std::int64_t high) const {
  std::string_view key = *keys.begin();
  for (const std::string_view other : keys) {
    if (!has(key) && has(other)) key = other;
  }
  const std::string_view word = require(key, JsonKind::number, "a whole number").text;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  const bool whole = end == word.data() + word.size();
  if (!whole) fail(file(), key, "expected a whole number, found ", shown(word));
  if (error != std::errc() || value < low || value > high) {
    fail(file(), key, shown(word), " is not between ", low, " and ", high);
  }
  return value;
}

std::int64_t JsonFields::integer(Keys keys, std::int64_t low, std::int64_t high,
                                 std::int64_t fallback) const {
  const bool any = std::any_of(keys.begin(), keys.end(), [&](std::string_view key) { return has(key); });
  return any ? integer(keys, low, high) : fallback;
}

double JsonFields::number(std::string_view key, double fallback) const {
  if (!has(key)) return fallback;
  const std::string_view word = require(key, JsonKind::number, "a number").text;
  const std::optional<double> value = json_number(word);
  if (!value) fail(file(), key, shown(word), " is outside the range of a 64-bit float");
  return *value;
}

bool JsonFields::boolean(std::string_view key, bool fallback) const {
  return has(key) ? require(key, JsonKind::boolean, "true or false").truth : fallback;
}

std::string_view JsonFields::string(std::string_view key) const {
  return require(key, JsonKind::string, "a string").text;
}

std::string_view JsonFields::string(std::string_view key, std::string_view fallback) const {
  return has(key) ? string(key) : fallback;
}

}  // namespace attend::io
