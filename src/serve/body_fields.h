// The fields of a request's body, one by one: what is there has to be right.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/json_document.h"
#include "serve/bodies.h"
#include "serve/refused.h"

namespace attend::serve {

class BodyFields {
 public:
  explicit BodyFields(std::string_view body);
  explicit BodyFields(io::JsonValue object) : object_(object) {}
  BodyFields(const BodyFields&) = delete;
  BodyFields& operator=(const BodyFields&) = delete;

  // A null is as if the field were not there.
  std::optional<io::JsonValue> find(std::string_view name) const;
  io::JsonValue required(std::string_view name) const;

  std::optional<std::string> text(std::string_view name) const;
  bool flag(std::string_view name, bool otherwise) const;
  std::optional<std::int64_t> integer(std::string_view name, std::int64_t least, std::int64_t most) const;
  std::optional<double> number(std::string_view name, double least, double most) const;
  // One of these words; the first where there is none.
  std::size_t word(std::string_view name, std::initializer_list<std::string_view> words) const;

 private:
  std::optional<io::JsonDocument> document_{};
  io::JsonValue object_;
};

inline constexpr std::int64_t kLargestInteger = std::int64_t{1} << 40;

// Whatever of io refuses a value, as what is told to the client.
template <class Read>
auto read_value(std::string_view name, const Read& read) {
  try {
    return read();
  } catch (const FileError& error) {
    throw Refused(Fault::invalid, error.what(), std::string(name));
  }
}

// Throws Refused for none, and for more than a request may have.
void require_count(std::size_t count, std::size_t most, std::string_view name);

// A string, a list of strings, a list of ids, or a list of such lists.
std::vector<Input> inputs_of(const io::JsonValue& value, std::string_view name, std::size_t most);
std::vector<std::string> texts_of(const io::JsonValue& value, std::string_view name, std::size_t most);
std::vector<std::int32_t> ids_of(const io::JsonValue& value, std::string_view name);

}  // namespace attend::serve
