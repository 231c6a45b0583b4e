// The element types of safetensors, as version 0.8 of its library knows them.
#pragma once

#include <attend/dtype.h>

#include <optional>
#include <string_view>

namespace attend::checkpoint {

struct SafetensorsType {
  std::string_view name;
  int bits;                    // of one element
  std::optional<DType> dtype;  // what attend calls it; none where it has no such type
};

// Null where there is no type of that name.
const SafetensorsType* find_type(std::string_view name) noexcept;
const SafetensorsType& type_of(DType dtype) noexcept;

}  // namespace attend::checkpoint
