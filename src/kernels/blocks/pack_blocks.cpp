// Weaving stored blocks into panels: once, when a model is loaded.
#include <attend/dtype.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/blocks/block_panel.h"

namespace attend::kernels {
namespace {

constexpr std::int64_t kQuad = 4, kQuads = kBlockDepth / kQuad;

unsigned byte_of(const std::byte* bytes, std::int64_t i) noexcept {
  return std::to_integer<unsigned>(bytes[i]);
}

// The numbers of a block of 32 of one row, unsigned, whatever the type: block `index` of the row.
void numbers_of_block(BlockType type, const std::byte* row, std::int64_t index, unsigned* numbers) noexcept {
  const std::int64_t within = index % kGroupBlocks;
  const std::byte* const block =
      row + (numbers_of(type) == kBlockDepth ? index : index / kGroupBlocks) * bytes_of(type);
  for (std::int64_t i = 0; i < kBlockDepth; ++i) {
    switch (type) {
      case BlockType::q4_0:
      case BlockType::q4_1: {
        const unsigned both = byte_of(block, (type == BlockType::q4_0 ? 2 : 4) + i % 16);
        numbers[i] = i < 16 ? both & 15u : both >> 4;
        break;
      }
      case BlockType::q8_0:
        numbers[i] = byte_of(block, 2 + i) ^ 0x80u;  // counted from -128
        break;
      case BlockType::q4_k:
        numbers[i] = byte_of(block, 16 + within / 2 * 32 + i) >> (within % 2 == 0 ? 0 : 4) & 15u;
        break;
      case BlockType::q6_k: {
        const std::int64_t half = within / 4, part = within % 4;
        const unsigned low = byte_of(block, 64 * half + 32 * (part % 2) + i) >> (part / 2 == 0 ? 0 : 4) & 15u;
        const unsigned high = byte_of(block, 128 + 32 * half + i) >> (2 * part) & 3u;
        numbers[i] = low | high << 4;
        break;
      }
    }
  }
}

// Column `column` of a panel's block: vector v of it has numbers [4 v, 4 v + 4) of each column. The upper
// bits of the bytes are those of the second half of the vectors.
void put_numbers(BlockType type, const unsigned* numbers, std::int64_t column, std::byte* block) noexcept {
  constexpr std::int64_t kVector = kBlockColumns * kQuad;
  for (std::int64_t v = 0; v < kQuads; ++v) {
    for (std::int64_t i = 0; i < kQuad; ++i) {
      const unsigned number = numbers[v * kQuad + i];
      const std::int64_t place = column * kQuad + i;
      if (type == BlockType::q8_0) {
        block[v * kVector + place] = std::byte(number);
        continue;
      }
      block[v % 4 * kVector + place] |= std::byte((number & 15u) << (v < 4 ? 0 : 4));
      if (type == BlockType::q6_k)  // the upper two bits of four vectors share the bytes of one
        block[4 * kVector + v / 4 * kVector + place] |= std::byte(number >> 4 << (v % 4 * 2));
    }
  }
}

void copy_half(const std::byte* from, std::int64_t column, std::byte* to) noexcept {
  std::memcpy(to + 2 * column, from, 2);
}

// Eight scales and eight offsets of 6 bits in 12 bytes.
unsigned scale_of_q4_k(const std::byte* s, std::int64_t k) noexcept {
  return k < 4 ? byte_of(s, k) & 63u : (byte_of(s, k + 4) & 15u) | byte_of(s, k - 4) >> 6 << 4;
}
unsigned offset_of_q4_k(const std::byte* s, std::int64_t k) noexcept {
  return k < 4 ? byte_of(s, k + 4) & 63u : byte_of(s, k + 4) >> 4 | byte_of(s, k) >> 6 << 4;
}

float half_at(const std::byte* halves, std::int64_t column) noexcept {
  float16 half;
  std::memcpy(&half.bits, halves + 2 * column, sizeof(half.bits));
  return to_float(half);
}

// Number i of a column's block, as it is held.
unsigned held_number(BlockType type, const std::byte* block, std::int64_t column, std::int64_t i) noexcept {
  constexpr std::int64_t kVector = kBlockColumns * kQuad;
  const std::int64_t v = i / kQuad, place = column * kQuad + i % kQuad;
  if (type == BlockType::q8_0) return byte_of(block, v * kVector + place);
  const unsigned low = byte_of(block, v % 4 * kVector + place) >> (v < 4 ? 0 : 4) & 15u;
  if (type != BlockType::q6_k) return low;
  return low | (byte_of(block, (4 + v / 4) * kVector + place) >> (v % 4 * 2) & 3u) << 4;
}

// The scales of one stored block.
void put_scales(BlockType type, const std::byte* block, std::int64_t column, std::byte* to) noexcept {
  constexpr std::int64_t kHalves = 2 * kBlockColumns;
  switch (type) {
    case BlockType::q4_0:
    case BlockType::q8_0:
      return copy_half(block, column, to);
    case BlockType::q4_1:
      copy_half(block, column, to);
      return copy_half(block + 2, column, to + kHalves);
    case BlockType::q4_k:
      copy_half(block, column, to);
      copy_half(block + 2, column, to + kHalves);
      for (std::int64_t k = 0; k < kGroupBlocks; ++k) {
        std::byte* const both = to + 2 * kHalves + k * 2 * kBlockColumns + column;
        both[0] = std::byte(scale_of_q4_k(block + 4, k));
        both[kBlockColumns] = std::byte(offset_of_q4_k(block + 4, k));
      }
      return;
    case BlockType::q6_k:
      copy_half(block + 208, column, to);
      for (std::int64_t g = 0; g < 2 * kGroupBlocks; ++g)
        to[kHalves + g * kBlockColumns + column] = block[192 + g];
      return;
  }
}

}  // namespace

void pack_block_panel(const BlockView& rows, std::int64_t columns, std::byte* panel) noexcept {
  const std::int64_t blocks = rows.columns / kBlockDepth, stored = rows.columns / numbers_of(rows.type);
  const std::int64_t number_bytes = panel_number_bytes(rows.type);
  std::byte* const scales = panel + blocks * number_bytes;
  const std::int64_t scale_bytes = stored == 0 ? 0 : panel_scale_bytes(rows.type, blocks) / stored;
  std::memset(panel, 0, static_cast<std::size_t>(panel_bytes(rows.type, blocks)));
  for (std::int64_t column = 0; column < columns; ++column) {
    const std::byte* const row = rows.row(column);
    for (std::int64_t b = 0; b < blocks; ++b) {
      unsigned numbers[kBlockDepth];
      numbers_of_block(rows.type, row, b, numbers);
      put_numbers(rows.type, numbers, column, panel + b * number_bytes);
    }
    for (std::int64_t s = 0; s < stored; ++s)
      put_scales(rows.type, row + s * bytes_of(rows.type), column, scales + s * scale_bytes);
  }
}

void decode_panel_column(BlockType type, const std::byte* panel, std::int64_t blocks, std::int64_t column,
                         float* numbers) noexcept {
  constexpr std::int64_t kHalves = 2 * kBlockColumns;
  const std::byte* const scales = panel + blocks * panel_number_bytes(type);
  const std::int64_t group = numbers_of(type) / kBlockDepth, group_bytes = panel_scale_bytes(type, group);
  for (std::int64_t b = 0; b < blocks; ++b) {
    const std::byte* const halves = scales + b / group * group_bytes;
    const std::byte* const block = panel + b * panel_number_bytes(type);
    const float d = half_at(halves, column);
    for (std::int64_t i = 0; i < kBlockDepth; ++i) {
      const auto held = static_cast<int>(held_number(type, block, column, i));
      float& to = numbers[b * kBlockDepth + i];
      switch (type) {
        case BlockType::q4_0:
          to = d * static_cast<float>(held - 8);
          break;
        case BlockType::q4_1:
          to = d * static_cast<float>(held) + half_at(halves + kHalves, column);
          break;
        case BlockType::q8_0:
          to = d * static_cast<float>(held - 128);
          break;
        case BlockType::q4_k: {
          const std::byte* const both = halves + 2 * kHalves + b % group * 2 * kBlockColumns + column;
          const float scale = d * static_cast<float>(byte_of(both, 0));
          const float offset =
              half_at(halves + kHalves, column) * static_cast<float>(byte_of(both, kBlockColumns));
          to = scale * static_cast<float>(held) - offset;
          break;
        }
        case BlockType::q6_k: {
          const std::byte* const both = halves + kHalves + b % group * 2 * kBlockColumns + column;
          const auto scale = static_cast<std::int8_t>(byte_of(both, i / 16 * kBlockColumns));
          to = d * static_cast<float>(scale) * static_cast<float>(held - 32);
          break;
        }
      }
    }
  }
}

void encode_q8_0(const float* numbers, std::int64_t count, std::byte* blocks) noexcept {
  for (std::int64_t first = 0; first < count; first += kBlockDepth, blocks += bytes_of(BlockType::q8_0)) {
    const float* const from = numbers + first;
    float largest = 0;
    bool finite = true;
    for (std::int64_t i = 0; i < kBlockDepth; ++i) {
      finite = finite && std::isfinite(from[i]);
      largest = std::max(largest, std::abs(from[i]));
    }
    const float16 scale = to_float16(finite ? largest / 127 : std::numeric_limits<float>::quiet_NaN());
    std::memcpy(blocks, &scale.bits, 2);
    const float stored = to_float(scale);
    for (std::int64_t i = 0; i < kBlockDepth; ++i) {
      const bool counts = finite && stored > 0;
      const float number = counts ? std::clamp(std::nearbyint(from[i] / stored), -127.0f, 127.0f) : 0.0f;
      blocks[2 + i] = std::byte(static_cast<unsigned char>(static_cast<int>(number)));
    }
  }
}

}  // namespace attend::kernels
