#include "kernels/blocks/blocks_reference.h"

#include <attend/dtype.h>

#include <cstring>

namespace attend::kernels {
namespace {

double half_in(const std::byte* block, std::int64_t place) noexcept {
  float16 half;
  std::memcpy(&half.bits, block + place, sizeof(half.bits));
  return static_cast<double>(to_float(half));
}

int byte_in(const std::byte* block, std::int64_t place) noexcept {
  return std::to_integer<int>(block[place]);
}
int signed_in(const std::byte* block, std::int64_t place) noexcept {
  return static_cast<std::int8_t>(std::to_integer<unsigned char>(block[place]));
}
int nibble_in(const std::byte* block, std::int64_t place, bool upper) noexcept {
  return upper ? byte_in(block, place) >> 4 : byte_in(block, place) & 15;
}

// d S q - m T: d, m; 6 bits each of eight S and eight T in 12 bytes; 128 bytes, the nibbles of two groups of
// 32 in each 32 of them.
double q4_k_number(const std::byte* block, std::int64_t x) noexcept {
  const std::int64_t k = x / 32;
  const auto s = [&](std::int64_t i) { return byte_in(block, 4 + i); };
  const int scale = k < 4 ? s(k) % 64 : s(k + 4) % 16 + s(k - 4) / 64 * 16;
  const int offset = k < 4 ? s(k + 4) % 64 : s(k + 4) / 16 + s(k) / 64 * 16;
  const int q = nibble_in(block, 16 + x / 64 * 32 + x % 32, k % 2 == 1);
  return half_in(block, 0) * scale * q - half_in(block, 2) * offset;
}

// d S (q - 32): 128 bytes with four lower bits, 64 with two upper ones, 16 scales, d.
double q6_k_number(const std::byte* block, std::int64_t x) noexcept {
  const std::int64_t half = x / 128, part = x % 128 / 32, l = x % 32;
  const int low = nibble_in(block, 64 * half + 32 * (part % 2) + l, part >= 2);
  const int high = byte_in(block, 128 + 32 * half + l) >> (2 * part) & 3;
  return half_in(block, 208) * signed_in(block, 192 + x / 16) * (low + 16 * high - 32);
}

}  // namespace

double number_reference(const BlockView& blocks, std::int64_t row, std::int64_t column) noexcept {
  const std::int64_t size = numbers_of(blocks.type), x = column % size;
  const std::byte* const block = blocks.row(row) + column / size * bytes_of(blocks.type);
  switch (blocks.type) {
    case BlockType::q4_0:
      return half_in(block, 0) * (nibble_in(block, 2 + x % 16, x >= 16) - 8);
    case BlockType::q4_1:
      return half_in(block, 0) * nibble_in(block, 4 + x % 16, x >= 16) + half_in(block, 2);
    case BlockType::q8_0:
      return half_in(block, 0) * signed_in(block, 2 + x);
    case BlockType::q4_k:
      return q4_k_number(block, x);
    case BlockType::q6_k:
      return q6_k_number(block, x);
  }
  return 0;
}

double product_reference(const BlockView& blocks, std::int64_t row, const VectorBlock* vector) noexcept {
  double sum = 0;
  for (std::int64_t i = 0; i < blocks.columns; ++i) {
    const VectorBlock& part = vector[i / kBlockDepth];
    sum += number_reference(blocks, row, i) * static_cast<double>(part.scale) * part.values[i % kBlockDepth];
  }
  return sum;
}

}  // namespace attend::kernels
