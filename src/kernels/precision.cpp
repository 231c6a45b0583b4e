#include <attend/precision.h>

#include <array>

namespace attend {
namespace {

constexpr std::array kPrecisions = {Precision::f32, Precision::bf16, Precision::int8};

}  // namespace

std::string_view name_of(Precision precision) noexcept {
  switch (precision) {
    case Precision::f32:
      return "f32";
    case Precision::bf16:
      return "bf16";
    case Precision::int8:
      return "int8";
  }
  return "";
}

std::optional<Precision> precision_named(std::string_view name) noexcept {
  for (const Precision precision : kPrecisions) {
    if (name_of(precision) == name) return precision;
  }
  return std::nullopt;
}

}  // namespace attend
