#include "io/json_document.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <system_error>

#include "io/utf8.h"

namespace attend::io {
namespace {

constexpr std::size_t kMaxDocumentBytes = 0xFFFFFFFF;  // places in it have 32 bits

FileText copy_of(std::string name, std::string_view text) {
  FileText copy{std::move(name), std::make_unique_for_overwrite<char[]>(text.size()), text.size()};
  std::copy(text.begin(), text.end(), copy.memory.get());
  return copy;
}

// The end of an array or object that is still being read: it holds all that follows.
constexpr std::uint32_t kUnfinished = 0xFFFFFFFF;

constexpr std::size_t kLongestPath = 160;  // of what is above a value, in messages

// A key as a part of a path.
std::string path_part(std::string_view key) {
  const bool plain = !key.empty() && key.size() < 60 && std::all_of(key.begin(), key.end(), [](char c) {
    return c > ' ' && c < 0x7F && c != '.' && c != '"' && c != '[';
  });
  return plain ? std::string(key) : "[" + quoted(key) + "]";
}

std::string member_path(const std::string& object, std::string_view key) {
  return object.empty() ? path_part(key) : object + "." + path_part(key);
}

}  // namespace

JsonDocument::JsonDocument(FileText text) : text_(std::move(text)) {
  if (text_.size > kMaxDocumentBytes) {
    fail(file(), "", "has ", text_.size, " bytes, expected at most ", kMaxDocumentBytes);
  }
  try {
    JsonReader json(file(), text_.span());
    add(json);
    json.end();
  } catch (const JsonSyntaxError& error) {
    fail(file(), "", "is not JSON: ", error.sentence());
  }
}

JsonDocument::JsonDocument(std::string name, std::string_view text)
    : JsonDocument(copy_of(std::move(name), text)) {}

JsonValue JsonDocument::root() const { return {this, 0}; }

void JsonDocument::add(JsonReader& json) {
  const std::size_t here = nodes_.size();
  switch (const JsonKind kind = json.kind()) {
    case JsonKind::object:
      return add_object(json);
    case JsonKind::array:
      add_text(kind, {});
      nodes_[here].end = kUnfinished;
      json.array("", [&] {
        add(json);
        ++nodes_[here].size;
      });
      nodes_[here].end = static_cast<std::uint32_t>(nodes_.size());
      return;
    case JsonKind::string:
      return add_text(kind, json.string(""));
    case JsonKind::number:
      return add_text(kind, json.number_word(""));
    case JsonKind::boolean:
      add_text(kind, {});
      nodes_[here].truth = json.boolean("");
      return;
    case JsonKind::null:
      add_text(kind, {});
      json.null();
      return;
  }
}

void JsonDocument::add_text(JsonKind kind, std::string_view text) {
  if (nodes_.size() == kMaxValues) fail(file(), "", "has more than ", kMaxValues, " values");
  const auto begin = text.empty() ? 0 : static_cast<std::uint32_t>(text.data() - text_.memory.get());
  const auto next = static_cast<std::uint32_t>(nodes_.size() + 1);
  nodes_.push_back({begin, static_cast<std::uint32_t>(text.size()), next, kind, false});
}

void JsonDocument::add_object(JsonReader& json) {
  const std::size_t here = nodes_.size();
  add_text(JsonKind::object, {});
  nodes_[here].end = kUnfinished;
  std::vector<std::string_view> keys;
  json.fields("", [&](std::string_view key) {
    keys.push_back(key);
    add_text(JsonKind::string, key);
    add(json);
  });
  nodes_[here].size = static_cast<std::uint32_t>(keys.size());
  nodes_[here].end = static_cast<std::uint32_t>(nodes_.size());
  if (const std::string_view* const twice = find_repeated(keys)) {
    throw FileError(file(), member_path(path_of(static_cast<std::uint32_t>(here)), *twice), "occurs twice");
  }
}

// Down from the root, always into the value that holds the node. Only refusals ask, so it may take its time.
std::string JsonDocument::path_of(std::uint32_t node) const {
  std::string path;
  for (std::uint32_t at = 0; at != node;) {
    const bool is_object = nodes_[at].kind == JsonKind::object;
    const std::uint32_t before_value = is_object ? 1 : 0;  // its key
    std::uint32_t child = at + 1;
    std::size_t index = 0;
    for (; nodes_[child + before_value].end <= node; ++index) child = nodes_[child + before_value].end;
    if (path.size() > kLongestPath) path = "...";
    if (is_object) {
      path = member_path(path, text_of(nodes_[child]));
    } else {
      path += "[" + std::to_string(index) + "]";
    }
    at = child + before_value;
  }
  return path;
}

void JsonValue::fail_with(std::string rule) const { throw FileError(file(), path(), std::move(rule)); }

void JsonValue::require(JsonKind wanted) const {
  if (kind() != wanted) fail("expected ", name_of(wanted), ", found ", name_of(kind()));
}

std::string_view JsonValue::string() const {
  require(JsonKind::string);
  return document_->text_of(node());
}

bool JsonValue::boolean() const {
  require(JsonKind::boolean);
  return node().truth;
}

double JsonValue::number() const {
  require(JsonKind::number);
  const std::string_view word = document_->text_of(node());
  const std::optional<double> value = json_number(word);
  if (!value) fail(shown(word), " is outside the range of a 64-bit float");
  return *value;
}

std::int64_t JsonValue::integer(std::int64_t smallest, std::int64_t largest) const {
  if (!is_number()) fail("expected a whole number, found ", name_of(kind()));
  const std::string_view word = document_->text_of(node());
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) {
    fail("expected a whole number from ", smallest, " to ", largest);
  }
  if (value < smallest || value > largest) fail("is ", value, ", expected ", smallest, " to ", largest);
  return value;
}

char32_t JsonValue::character() const {
  const std::string_view text = string();
  std::size_t position = 0;
  const char32_t c = text.empty() ? 0 : next_char(text, position);
  if (position != text.size() || text.empty()) fail("expected one character, found ", quoted(text));
  return c;
}

JsonValue::Elements JsonValue::elements(std::size_t most) const {
  require(JsonKind::array);
  if (node().size > most) fail("has ", node().size, " elements, more than the ", most, " that are allowed");
  return Elements(*this);
}

JsonValue JsonValue::Elements::operator[](std::size_t index) const {
  Iterator element = begin();
  for (; index > 0; --index) ++element;
  return *element;
}

JsonValue::Members JsonValue::members() const {
  require(JsonKind::object);
  return Members(*this);
}

const JsonValue& JsonValue::only_keys(std::initializer_list<std::string_view> keys) const {
  for (const auto& [key, value] : members()) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      value.fail("is not a key that is supported here");
    }
  }
  return *this;
}

std::optional<JsonValue> JsonValue::find(std::string_view wanted) const {
  for (const auto& [key, value] : members()) {
    if (key == wanted) return value.is_null() ? std::nullopt : std::optional(value);
  }
  return std::nullopt;
}

JsonValue JsonValue::at(std::string_view key) const {
  const std::optional<JsonValue> value = find(key);
  if (!value) throw FileError(file(), member_path(path(), key), "is missing");
  return *value;
}

bool JsonValue::boolean(std::string_view key, bool otherwise) const {
  const std::optional<JsonValue> value = find(key);
  return value ? value->boolean() : otherwise;
}

std::string_view JsonValue::type() const { return at("type").string(); }

bool JsonValue::is_bare(std::string_view expected) const {
  if (type() != expected) return false;
  only_keys({"type"});
  return true;
}

}  // namespace attend::io
