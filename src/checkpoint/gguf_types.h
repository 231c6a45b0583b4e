// The element types of tensors in GGUF files.
#pragma once

#include <attend/blocks.h>
#include <attend/dtype.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace attend::checkpoint {

// Writes the numbers of so many blocks, one after another.
using DecodeBlocks = void (*)(const std::byte* blocks, std::int64_t count, float* out) noexcept;

// Rows are made of whole blocks. A type that is neither a type of attend's nor decoded has a size, so that
// files which hold it can be looked at.
struct GgufTensorType {
  std::uint32_t number = 0;  // the format's
  std::string_view name{};
  std::int64_t block_elements = 1, block_bytes = 1;
  std::optional<DType> dtype{};  // what attend calls it: views need no decoding
  DecodeBlocks decode = nullptr;
  std::optional<BlockType> blocks{};  // where products read it as it is
};

// Null where the format has no type of that number.
const GgufTensorType* find_gguf_type(std::uint32_t number) noexcept;

}  // namespace attend::checkpoint
