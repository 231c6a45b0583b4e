#include "support/sketch.h"

namespace attend {
namespace {

// SplitMix64: number i of the generator that starts at the text's own seed.
std::uint64_t sign_bits(std::uint64_t text, std::uint64_t i) {
  std::uint64_t z = ((text << 32) + i + 1) * 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

}  // namespace

Sketch sketch_of(std::int64_t text, ConstTensorView state) {
  const Tensor packed = copy_of(state, DType::f64);
  Sketch sums{};
  std::uint64_t i = 0;
  for (const double value : packed.values<double>()) {
    const std::uint64_t bits = sign_bits(static_cast<std::uint64_t>(text), i++);
    for (std::size_t s = 0; s < kSketchSigns; ++s) sums[s] += (bits >> s & 1U) != 0 ? -value : value;
  }
  return sums;
}

}  // namespace attend
