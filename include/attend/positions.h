// Position information. Without it attention treats a sentence as a set: permuting the tokens only permutes
// the result.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <attend/tensor.h>

namespace attend {

// Sines and cosines of growing wavelength: out[p, 2i] = sin(p / base^(2i/d)), out[p, 2i+1] = cos(the same);
// out (L, d), p = start ...
void sinusoidal_positions(TensorView out, std::int64_t start = 0, double base = 10000.0);

// A learned table: out[i] = x[i] + table[positions[i]]; x and out (L, d), table (P, d). Throws on a position
// outside the table.
void add_learned_positions(ConstTensorView x, ConstTensorView table, std::span<const std::int64_t> positions,
                           TensorView out);

// Which two elements of a head vector rotate together.
enum class RotaryPairing : std::uint8_t {
  interleaved,  // (0, 1), (2, 3), ...: GPT-J, RoFormer
  halves,       // (0, r/2), (1, r/2 + 1), ...: GPT-NeoX, Llama in Hugging Face's layout
};

struct Rotary {
  double base = 10000.0;
  std::int64_t dimensions = 0;  // how many leading elements rotate, even; 0 = all of them
  RotaryPairing pairing = RotaryPairing::halves;

  // For models that were stretched to longer texts than those they were trained on: the wavelength of each
  // pair is multiplied by its divisor (of the frequency), cosines and sines by the magnitude.
  std::vector<double> divisors{};  // one for each pair; none: all are 1
  double magnitude = 1;

  // A text of more than long_text tokens is rotated differently, in all its places; 0: none is.
  std::int64_t long_text = 0;
  std::vector<double> long_divisors{};  // in place of divisors (LongRoPE), where there are any
  double growth = 0;  // n tokens: the base times (growth n / long_text - growth + 1)^(r / (r - 2)), where r
                      // dimensions rotate (dynamic NTK)

  bool operator==(const Rotary&) const = default;
};

// How many positions it takes for each pair of a vector of d elements to turn by one radian, in a text of
// this many tokens: base^(2i/dimensions), times what stretches it.
std::vector<double> rotary_wavelengths(const Rotary& rotary, std::int64_t d, std::int64_t text_length = 0);

// Whether the rotations of a text change when it grows from some tokens to more: keys that were already
// rotated must then be recomputed.
bool rotation_changes(const Rotary& rotary, std::int64_t tokens_before, std::int64_t tokens_after) noexcept;

// Rotates pair i of the vector at position p by the angle p / wavelength i. x and out (..., L, d), one
// position per row of the axis before the last; out may be x. The text's length is the largest position plus
// one. inverse = true is the gradient and, where the magnitude is 1, rotates back.
void apply_rotary(ConstTensorView x, std::span<const std::int64_t> positions, const Rotary& rotary,
                  TensorView out, bool inverse = false);

// The same with cosines and sines from tables that the caller holds: (..., L, pairs), of one shape, which
// broadcasts to x's with `pairs` in place of d; any floating type. The first 2 pairs elements of a vector
// rotate, the others stay as they are.
void apply_rotary_tables(ConstTensorView x, ConstTensorView cosines, ConstTensorView sines,
                         RotaryPairing pairing, TensorView out, bool inverse = false);

// ALiBi's slopes for AttentionOptions::alibi_slopes: 2^(-8/n), 2^(-16/n), ... for n a power of two, and the
// paper's interpolation for other head counts.
std::vector<double> alibi_slopes(std::int64_t heads);

// Relative-position buckets as in T5 and MPNet: near distances have a bucket each, far ones share logarithmic
// buckets.
struct RelativeBuckets {
  std::int64_t buckets = 32;
  std::int64_t max_distance = 128;
  bool bidirectional = true;
};

// The bucket of key position minus query position.
std::int64_t relative_bucket(std::int64_t key_minus_query, const RelativeBuckets& shape);

// out[h, i, j] = table[bucket(j - (i + query_offset)), h]: a bias for AttentionOptions::bias. table (buckets,
// H), out (H, Lq, Lk).
void relative_bias(ConstTensorView table, const RelativeBuckets& shape, std::int64_t query_offset,
                   TensorView out);

}  // namespace attend
