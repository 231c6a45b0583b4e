// The numbers in which the products of a model are made. Everything else, sums and softmax included, is f32.
// docs/precision.md says what each costs in exactness and gains in speed.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace attend {

enum class Precision : std::uint8_t {
  f32,   // exact up to rounding; the default
  bf16,  // both factors rounded to bf16
  int8,  // both factors rounded to whole numbers of 8 bits with a scale
};

std::string_view name_of(Precision precision) noexcept;
std::optional<Precision> precision_named(std::string_view name) noexcept;

}  // namespace attend
