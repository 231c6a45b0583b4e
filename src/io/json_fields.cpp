#include "io/json_fields.h"

#include <algorithm>
#include <charconv>

namespace attend::io {

JsonFields::JsonFields(FileText text, const Nested& nested, Kept kept) : text_(std::move(text)) {
  JsonReader json(text_.name, text_.span());
  read(json, nested, kept);
  json.end();
}

JsonFields::JsonFields(const std::string& file, std::string within, JsonReader& json, Kept kept)
    : text_{.name = file, .memory = nullptr, .size = 0}, within_(std::move(within)) {
  read(json, {}, kept);
}

std::string JsonFields::path(std::string_view key) const {
  return within_.empty() ? std::string(key) : within_ + "." + std::string(key);
}

JsonFields::Value JsonFields::plain(JsonReader& json, std::string_view where) const {
  Value value{.kind = json.kind()};
  switch (value.kind) {
    case JsonKind::string:
      value.text = json.string(where);
      break;
    case JsonKind::number:
      value.text = json.number_word(where);
      break;
    case JsonKind::boolean:
      value.truth = json.boolean(where);
      break;
    case JsonKind::null:
      json.null();
      break;
    case JsonKind::object:
    case JsonKind::array:
      json.skip(where);
      break;
  }
  return value;
}

void JsonFields::read(JsonReader& json, const Nested& nested, Kept kept) {
  json.object(within_, [&](std::string_view key) {
    const std::string where = path(key);
    const JsonKind kind = json.kind();
    const bool keeps = std::find(kept.begin(), kept.end(), key) != kept.end();
    if (keeps && kind == JsonKind::object) {
      Value value{.kind = kind};
      value.object = std::unique_ptr<JsonFields>(new JsonFields(file(), where, json, kept));
      values_.emplace(key, std::move(value));
    } else if (keeps && kind == JsonKind::array) {
      Value value{.kind = kind};
      json.array(where, [&] {
        if (value.list.size() == kMaxElements)
          fail(file(), where, "has more than ", kMaxElements, " elements");
        value.list.push_back(plain(json, where));
      });
      values_.emplace(key, std::move(value));
    } else if ((kind == JsonKind::object || kind == JsonKind::array) && nested && nested(json, key)) {
      values_.emplace(key, Value{.kind = kind});
    } else {
      values_.emplace(key, plain(json, where));
    }
  });
}

const JsonFields::Value* JsonFields::find(std::string_view key) const {
  const auto found = values_.find(key);
  return found == values_.end() || found->second.kind == JsonKind::null ? nullptr : &found->second;
}

const JsonFields::Value& JsonFields::require(std::string_view key, JsonKind kind,
                                             const char* expected) const {
  const Value* const value = find(key);
  if (value == nullptr) fail(file(), path(key), "is missing");
  if (value->kind != kind) fail(file(), path(key), "expected ", expected);
  return *value;
}

bool JsonFields::has(std::string_view key) const { return find(key) != nullptr; }

bool JsonFields::is_null(std::string_view key) const { return values_.contains(key) && !has(key); }

std::int64_t JsonFields::integer(Keys keys, std::int64_t low, std::int64_t high) const {
  std::string_view key = *keys.begin();
  for (const std::string_view other : keys) {
    if (!has(key) && has(other)) key = other;
  }
  const std::string_view word = require(key, JsonKind::number, "a whole number").text;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  const bool whole = end == word.data() + word.size();
  if (!whole) fail(file(), path(key), "expected a whole number, found ", shown(word));
  if (error != std::errc() || value < low || value > high) {
    fail(file(), path(key), shown(word), " is not between ", low, " and ", high);
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
  return number_of(require(key, JsonKind::number, "a number"), key);
}

double JsonFields::number_of(const Value& value, std::string_view key) const {
  const std::optional<double> number = json_number(value.text);
  if (!number) fail(file(), path(key), shown(value.text), " is outside the range of a 64-bit float");
  return *number;
}

const JsonFields* JsonFields::object(std::string_view key) const {
  return has(key) ? require(key, JsonKind::object, "an object").object.get() : nullptr;
}

bool JsonFields::is_list(std::string_view key) const {
  return has(key) && find(key)->kind == JsonKind::array;
}

const std::vector<JsonFields::Value>& JsonFields::list(std::string_view key, std::size_t most) const {
  static const std::vector<Value> kNone;
  if (!has(key)) return kNone;
  const std::vector<Value>& values = require(key, JsonKind::array, "a list").list;
  if (values.size() > most)
    fail(file(), path(key), "has ", values.size(), " elements, expected at most ", most);
  return values;
}

std::vector<double> JsonFields::numbers(std::string_view key, std::size_t most) const {
  std::vector<double> all;
  for (const Value& value : list(key, most)) {
    if (value.kind != JsonKind::number) fail(file(), path(key), "expected a list of numbers");
    all.push_back(number_of(value, key));
  }
  return all;
}

std::vector<std::string_view> JsonFields::strings(std::string_view key, std::size_t most) const {
  std::vector<std::string_view> all;
  for (const Value& value : list(key, most)) {
    if (value.kind != JsonKind::string) fail(file(), path(key), "expected a list of strings");
    all.push_back(value.text);
  }
  return all;
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
