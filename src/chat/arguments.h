// What a filter, a test, a method or a function is called with, by the names of its parameters.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/value.h"

namespace attend::chat {

struct Arguments {
  Values values{};
  std::vector<std::pair<std::string, Value>> keywords{};

  // The argument at this place or of this name; nothing where it is not given.
  const Value* find(std::size_t place, std::string_view name) const {
    if (place < values.size()) return &values[place];
    for (const auto& [keyword, value] : keywords) {
      if (keyword == name) return &value;
    }
    return nullptr;
  }
};

// Numbers, truth values and texts of arguments; they fail in a sentence that names the parameter.
std::int64_t whole(const Value& value, std::string_view name);
const Text& text_of(const Value& value, std::string_view name);

}  // namespace attend::chat
