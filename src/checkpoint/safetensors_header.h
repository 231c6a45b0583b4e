// The header of a safetensors file: which tensors it holds, and where.
#pragma once

#include <attend/dtype.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/open_file.h"

namespace attend::checkpoint {

inline constexpr std::size_t kMaxHeaderBytes = 100'000'000;  // the format's own limit
inline constexpr int kMaxStoredRank = 8;  // attend's: keeps an entry at its size, 128 bytes

// An element type of the format, as version 0.8 of its library knows them.
struct SafetensorsType {
  std::string_view name;
  int bits;                    // of one element
  std::optional<DType> dtype;  // what attend calls it; none where it has no such type
};

struct TensorEntry {
  std::string_view name;  // in the header's text
  const SafetensorsType* type = nullptr;
  std::array<std::int64_t, kMaxStoredRank> shape{};
  int rank = 0;
  std::uint64_t begin = 0, end = 0;  // bytes of the data, which starts after the header
};

struct SafetensorsHeader {
  io::FileText text;                 // what the views point into
  std::size_t data_start = 0;        // in the file
  std::vector<TensorEntry> tensors;  // by name
  std::vector<std::pair<std::string_view, std::string_view>> metadata;
};

// Checks every rule of the format before anything is believed; throws FileError.
SafetensorsHeader read_header(const io::InputFile& file);

// The same of a text, where `data_bytes` follow it.
SafetensorsHeader parse_header(io::FileText text, std::size_t data_bytes);

}  // namespace attend::checkpoint
