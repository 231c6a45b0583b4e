// Layers and heads have numbers, and numbers count from 1; places and axes have indices, from 0.
// docs/counting.md
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace attend {

constexpr bool is_number(std::int64_t value, std::int64_t count) { return value >= 1 && value <= count; }

// "head is 0, and heads count from 1 to 12". `name` is what the caller calls it, such as
// "edits.heads[2].head".
inline std::string out_of_count(std::string_view name, std::string_view thing, std::int64_t value,
                                std::int64_t count) {
  return joined(name, " is ", value, ", and ", thing, "s count from 1 to ", count);
}

// thing: "layer" or "head".
inline void require_number(const char* operation, std::string_view thing, std::int64_t value,
                           std::int64_t count) {
  if (!is_number(value, count)) refuse(operation, out_of_count(thing, thing, value, count));
}

}  // namespace attend
