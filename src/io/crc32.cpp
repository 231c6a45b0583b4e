#include "io/crc32.h"

#include <array>

namespace attend::io {
namespace {

// The polynomial of zip, bits reversed: the highest power is the lowest bit.
constexpr std::uint32_t kPolynomial = 0xEDB88320;

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? kPolynomial : 0);
    table[i] = value;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> kTable = make_table();

// a * b as polynomials over two elements, modulo the polynomial; 1 is the highest bit.
std::uint32_t product(std::uint32_t a, std::uint32_t b) noexcept {
  std::uint32_t result = 0;
  for (std::uint32_t bit = 0x80000000; bit != 0; bit >>= 1) {
    if ((a & bit) != 0) result ^= b;
    b = (b >> 1) ^ ((b & 1) != 0 ? kPolynomial : 0);
  }
  return result;
}

}  // namespace

std::uint32_t crc32(std::uint32_t crc, std::string_view bytes) noexcept {
  crc = ~crc;
  for (const char byte : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<unsigned char>(byte)) & 0xFF];
  return ~crc;
}

// A text that is followed by n zero bytes has its checksum multiplied by x^(8 n); the second text's is added
// to that.
std::uint32_t crc32_joined(std::uint32_t first, std::uint32_t second, std::uint64_t length) noexcept {
  std::uint32_t power = 0x00800000;  // x^8
  for (; length != 0; length >>= 1) {
    if ((length & 1) != 0) first = product(first, power);
    power = product(power, power);
  }
  return first ^ second;
}

}  // namespace attend::io
