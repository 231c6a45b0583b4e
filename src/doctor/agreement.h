// How far apart two sets of vectors are, and what that means.
#pragma once

#include <attend/tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attend::doctor {

enum class Verdict : std::uint8_t { fp32_noise, f16_noise, differs };
std::string_view name_of(Verdict verdict) noexcept;  // "within fp32 noise", ...

// Distances are between two vectors, relative to the reference's length. Engines that round in a different
// order are 1e-6 apart; half precision, TF32 or the other form of GELU anywhere in the model gives 1e-3.
inline constexpr double kFp32Noise = 2e-5, kF16Noise = 4e-3;
Verdict verdict_of(double distance) noexcept;
// The same for one token's vector, whose noise is not averaged out: f16 gives 5e-3 in the sixth layer.
inline constexpr double kF16TokenNoise = 1e-2;
Verdict token_verdict_of(double distance) noexcept;

struct Agreement {
  std::int64_t texts = 0;
  double worst_cosine = 1, median_cosine = 1;
  std::int64_t worst_text = 0;  // the one with the lowest cosine
  double max_abs_error = 0;
  double distance = 0;   // the largest over all texts
  double direction = 0;  // the same with both scaled to length 1: what scaling cannot explain
  std::vector<double> cosines{};

  Verdict verdict() const noexcept { return verdict_of(distance); }
  bool agrees() const noexcept { return verdict() != Verdict::differs; }
  bool same_direction() const noexcept { return verdict_of(direction) != Verdict::differs; }
};

// ours (texts, E) f32 or f64, reference (texts, E) f64. Computed in float64; a zero vector has the cosine 1
// with another zero vector and 0 with anything else.
Agreement compare(ConstTensorView ours, ConstTensorView reference);

// A cosine near 1 is shown as 1 minus the difference.
std::string cosine_text(double cosine);

// The 16-bit type that can represent all these numbers exactly, if there is one. Most bf16 numbers are exact
// in f16 too, which has more digits, but not the other way round.
std::optional<DType> narrow_type_of(ConstTensorView numbers);

}  // namespace attend::doctor
