// Matrices as GGUF files store them: rows of blocks, a block being numbers of a few bits and what scales
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace attend {

// Those that are multiplied as they are. q4_0, q4_1 and q8_0 have blocks of 32 numbers, q4_k and q6_k of 256.
enum class BlockType : std::uint8_t { q4_0, q4_1, q8_0, q4_k, q6_k };

std::string_view name_of(BlockType type) noexcept;  // as GGUF calls it: "Q4_0"

// How many numbers a block has, and how many bytes it takes.
constexpr std::int64_t numbers_of(BlockType type) noexcept {
  return type == BlockType::q4_k || type == BlockType::q6_k ? 256 : 32;
}
constexpr std::int64_t bytes_of(BlockType type) noexcept {
  switch (type) {
    case BlockType::q4_0:
      return 18;
    case BlockType::q4_1:
      return 20;
    case BlockType::q8_0:
      return 34;
    case BlockType::q4_k:
      return 144;
    case BlockType::q6_k:
      return 210;
  }
  return 0;
}

// (rows, columns) of whole blocks, row after row; not aligned.
struct BlockView {
  BlockType type = BlockType::q8_0;
  std::int64_t rows = 0, columns = 0;
  const std::byte* data = nullptr;

  std::int64_t row_bytes() const noexcept { return columns / numbers_of(type) * bytes_of(type); }
  const std::byte* row(std::int64_t index) const noexcept { return data + index * row_bytes(); }
  bool given() const noexcept { return data != nullptr; }
};

// A tensor in blocks, and how its numbers are read.
struct StoredBlocks {
  BlockView view{};
  void (*decode)(const std::byte* blocks, std::int64_t count, float* out) noexcept = nullptr;  // to f32

  // Row `index`, (columns).
  void read_row(std::int64_t index, float* out) const noexcept {
    decode(view.row(index), view.columns / numbers_of(view.type), out);
  }
};

}  // namespace attend
