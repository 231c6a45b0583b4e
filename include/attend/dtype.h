// Element types of tensors, and the two 16-bit storage formats with their conversions.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace attend {

// f32 computes; f64 is the reference; f16 is stored so and computed in f32, and so is bf16, which attention
// also multiplies as it is where the processor can; boolean is one byte,
// non-zero = true; i64 holds indices, such as the keys a query looks at most.
enum class DType : std::uint8_t { f32, f64, bf16, f16, boolean, i64 };

struct bfloat16 {
  std::uint16_t bits = 0;
};

struct float16 {
  std::uint16_t bits = 0;
};

std::size_t size_of(DType dtype) noexcept;
std::string_view name_of(DType dtype) noexcept;
constexpr bool is_float(DType dtype) noexcept { return dtype != DType::boolean && dtype != DType::i64; }

template <class T>
concept Element = std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, bfloat16> ||
                  std::same_as<T, float16> || std::same_as<T, bool> || std::same_as<T, std::int64_t>;

template <Element T>
constexpr DType dtype_of() noexcept {
  if constexpr (std::same_as<T, float>) return DType::f32;
  if constexpr (std::same_as<T, double>) return DType::f64;
  if constexpr (std::same_as<T, bfloat16>) return DType::bf16;
  if constexpr (std::same_as<T, float16>) return DType::f16;
  if constexpr (std::same_as<T, std::int64_t>) return DType::i64;
  return DType::boolean;
}

// bf16 is the upper half of an f32, so widening is exact.
constexpr float to_float(bfloat16 value) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

// Every f16, subnormals included, is an f32, so widening is exact.
constexpr float to_float(float16 value) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000u) << 16;
  const std::uint32_t exponent = (value.bits >> 10) & 0x1fu;
  const std::uint32_t mantissa = value.bits & 0x3ffu;
  if (exponent == 0x1fu) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (mantissa << 13));
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
  return sign != 0 ? -magnitude : magnitude;
}

// Round to nearest, ties to even; NaN stays NaN.
constexpr bfloat16 to_bfloat16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return {static_cast<std::uint16_t>((bits >> 16) | 0x40u)};
  return {static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}

// Round to nearest, ties to even; overflow gives infinity, NaN stays NaN.
constexpr float16 to_float16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return {static_cast<std::uint16_t>(sign | 0x7e00u)};
  if (magnitude >= 0x477ff000u) return {static_cast<std::uint16_t>(sign | 0x7c00u)};  // 65520 and above
  if (magnitude < 0x38800000u) {  // below 2^-14: adding 0.5 makes the FPU round to a multiple of 2^-24
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return {static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u))};
  }
  const std::uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return {static_cast<std::uint16_t>(sign | ((rounded - 0x38000000u) >> 13))};
}

}  // namespace attend
