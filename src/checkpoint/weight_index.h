// model.safetensors.index.json: which file of several holds which tensor.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/open_file.h"

namespace attend::checkpoint {

inline constexpr std::size_t kMaxIndexBytes = std::size_t{64} << 20;
inline constexpr std::size_t kMaxShards = 512;

struct WeightIndex {
  io::FileText text;                                              // what the views point into
  std::vector<std::string> files;                                 // plain names, each once
  std::vector<std::pair<std::string_view, std::size_t>> tensors;  // by name: the number of its file
};

// Throws FileError; a file's name must be plain and end in .safetensors.
WeightIndex parse_index(io::FileText text);

}  // namespace attend::checkpoint
