#include "serve/body_fields.h"

#include <algorithm>

#include "io/fail.h"

namespace attend::serve {
namespace {

constexpr const char* kTheBody = "the body";

std::optional<io::JsonDocument>& parsed(std::optional<io::JsonDocument>& document, std::string_view body) {
  try {
    document.emplace(kTheBody, body);
  } catch (const FileError& error) {
    throw Refused(Fault::syntax, error.what());
  }
  if (!document->root().is_object()) throw Refused(Fault::invalid, "the body is not a JSON object");
  return document;
}

[[noreturn]] void refuse_kind(const io::JsonValue& value, std::string_view name, const char* expected) {
  throw Refused(Fault::invalid,
                joined('"', name, "\" is or holds ", io::name_of(value.kind()), ", expected ", expected),
                std::string(name));
}

}  // namespace

void require_count(std::size_t count, std::size_t most, std::string_view name) {
  if (count == 0) throw Refused(Fault::empty, joined('"', name, "\" is empty"), std::string(name));
  if (count > most)
    throw Refused(Fault::too_many,
                  joined('"', name, "\" has ", count, " entries, and a request may have ", most),
                  std::string(name));
}

BodyFields::BodyFields(std::string_view body) : object_(parsed(document_, body)->root()) {}

std::optional<io::JsonValue> BodyFields::find(std::string_view name) const { return object_.find(name); }

io::JsonValue BodyFields::required(std::string_view name) const {
  const auto found = find(name);
  if (!found) throw Refused(Fault::invalid, joined("the body has no \"", name, "\""), std::string(name));
  return *found;
}

std::optional<std::string> BodyFields::text(std::string_view name) const {
  const auto found = find(name);
  if (!found) return std::nullopt;
  return read_value(name, [&] { return std::string(found->string()); });
}

bool BodyFields::flag(std::string_view name, bool otherwise) const {
  const auto found = find(name);
  return found ? read_value(name, [&] { return found->boolean(); }) : otherwise;
}

std::optional<std::int64_t> BodyFields::integer(std::string_view name, std::int64_t least,
                                                std::int64_t most) const {
  const auto found = find(name);
  if (!found) return std::nullopt;
  return read_value(name, [&] { return found->integer(least, most); });
}

std::optional<double> BodyFields::number(std::string_view name, double least, double most) const {
  const auto found = find(name);
  if (!found) return std::nullopt;
  const double value = read_value(name, [&] { return found->number(); });
  if (!(value >= least && value <= most))
    throw Refused(Fault::invalid, joined('"', name, "\" is ", value, ", expected ", least, " to ", most),
                  std::string(name));
  return value;
}

std::size_t BodyFields::word(std::string_view name, std::initializer_list<std::string_view> words) const {
  const auto given = text(name);
  if (!given) return 0;
  std::string known;
  std::size_t index = 0;
  for (const std::string_view word : words) {
    if (std::ranges::equal(*given, word, [](char a, char b) { return (a | 0x20) == b; })) return index;
    known.append(index++ > 0 ? ", " : "").append(word);
  }
  throw Refused(Fault::invalid, joined('"', name, "\" is ", io::quoted(*given), ", expected one of: ", known),
                std::string(name));
}

std::vector<std::int32_t> ids_of(const io::JsonValue& value, std::string_view name) {
  if (!value.is_array()) refuse_kind(value, name, "a list of token ids");
  std::vector<std::int32_t> ids;
  for (const io::JsonValue element : value.elements())
    ids.push_back(read_value(name, [&] {
      return static_cast<std::int32_t>(element.integer(0, std::numeric_limits<std::int32_t>::max()));
    }));
  return ids;
}

std::vector<std::string> texts_of(const io::JsonValue& value, std::string_view name, std::size_t most) {
  std::vector<std::string> texts;
  if (value.is_string()) {
    texts.emplace_back(value.string());
    return texts;
  }
  if (!value.is_array()) refuse_kind(value, name, "a text or a list of texts");
  require_count(value.elements().size(), most, name);
  for (const io::JsonValue element : value.elements()) {
    if (!element.is_string()) refuse_kind(element, name, "a text or a list of texts");
    texts.emplace_back(element.string());
  }
  return texts;
}

std::vector<Input> inputs_of(const io::JsonValue& value, std::string_view name, std::size_t most) {
  constexpr const char* kExpected = "a text, a list of texts, a list of token ids or a list of such lists";
  std::vector<Input> inputs;
  if (value.is_string()) {
    inputs.emplace_back(std::string(value.string()));
    return inputs;
  }
  if (!value.is_array()) refuse_kind(value, name, kExpected);
  const auto elements = value.elements();
  if (elements.size() > 0 && elements[0].is_number()) {
    inputs.emplace_back(ids_of(value, name));
    return inputs;
  }
  require_count(elements.size(), most, name);
  for (const io::JsonValue element : elements) {
    if (element.is_string()) {
      inputs.emplace_back(std::string(element.string()));
    } else if (element.is_array()) {
      inputs.emplace_back(ids_of(element, name));
    } else {
      refuse_kind(element, name, kExpected);
    }
  }
  return inputs;
}

}  // namespace attend::serve
