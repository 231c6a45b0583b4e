#include "kernels/softmax/softmax.h"

#include <bit>
#include <cstdint>
#include <limits>

namespace attend::kernels {
namespace {

// Maximum and sum run in this many independent lanes: without lanes of our own the compiler may not reorder
// them, and would go one element at a time.
constexpr std::int64_t kLanes = 16;

// exp(x) for x <= 0, within 1 ulp; NaN stays NaN. No branch and no call, so a loop of it becomes vectors,
// which a loop of std::exp does not.
inline float exp_nonpositive(float x) noexcept {
  constexpr float kSmallest = -87.33654f;        // below it the result is not a normal number: 0
  constexpr float kRound = 0x1.8p23f;            // adding it leaves the nearest whole number in the low bits
  constexpr float kLog2Upper = 0x1.62e4p-1f;     // log 2 in two parts; the upper has 15 bits, so that its
  constexpr float kLog2Lower = 0x1.7f7d1cp-20f;  // product with a power up to 2^9 is exact
  const float clamped = x < kSmallest ? kSmallest : x;
  const float shifted = clamped * 0x1.715476p0f + kRound;
  const float power = shifted - kRound;
  const float r = (clamped - power * kLog2Upper) - power * kLog2Lower;  // |r| <= log(2) / 2
  // Taylor coefficients to r^7: what is left out is below 6e-9, a tenth of an ulp.
  float p = 1.0f / 5040;
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = (p * r) * r + r + 1.0f;
  // 2^power: the whole number in the low bits moves into the exponent field, the rest is shifted out.
  const float scale = std::bit_cast<float>((std::bit_cast<std::uint32_t>(shifted) + 127u) << 23);
  return x < kSmallest ? 0.0f : p * scale;
}

float row_max(const float* x, std::int64_t n) noexcept {
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  float lanes[kLanes];
  for (float& lane : lanes) lane = kNone;
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::int64_t j = 0; j < kLanes; ++j) lanes[j] = x[i + j] > lanes[j] ? x[i + j] : lanes[j];
  }
  float max = kNone;
  for (; i < n; ++i) max = x[i] > max ? x[i] : max;
  for (const float lane : lanes) max = lane > max ? lane : max;
  return max;
}

// In double: at 4096 elements and more an f32 sum would itself be off by 1e-6.
double row_sum(const float* x, std::int64_t n) noexcept {
  double lanes[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::int64_t j = 0; j < kLanes; ++j) lanes[j] += static_cast<double>(x[i + j]);
  }
  double sum = 0;
  for (; i < n; ++i) sum += static_cast<double>(x[i]);
  for (const double lane : lanes) sum += lane;
  return sum;
}

}  // namespace

void softmax_row(const float* x, std::int64_t n, float* out) noexcept {
  const float max = row_max(x, n);
  // A row of nothing but -inf (or NaN, which no comparison picks) is shifted by 0: -inf - -inf would be NaN.
  const float shift = max == -std::numeric_limits<float>::infinity() ? 0.0f : max;
  // Two loops: in the second nothing can alias, so it becomes vectors even when out is x.
  for (std::int64_t i = 0; i < n; ++i) out[i] = x[i] - shift;
  for (std::int64_t i = 0; i < n; ++i) out[i] = exp_nonpositive(out[i]);
  const double sum = row_sum(out, n);
  const float factor = sum == 0 ? 0.0f : static_cast<float>(1 / sum);
  for (std::int64_t i = 0; i < n; ++i) out[i] *= factor;
}

}  // namespace attend::kernels
