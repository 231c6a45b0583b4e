// The header of a safetensors file, as text.
#pragma once

#include <attend/tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace attend::save {

struct StoredArray {
  std::string name;
  DType dtype = DType::f32;
  Dims shape;
  std::uint64_t begin = 0, end = 0;  // in the data
};

// Refuses names that come twice, that are not UTF-8, or that the format keeps for itself.
std::string safetensors_header(const std::vector<StoredArray>& arrays,
                               const std::map<std::string, std::string>& metadata);

}  // namespace attend::save
