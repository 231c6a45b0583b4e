// How it works: three walks over a row, which stays in the first-level cache. The first finds the mean in
// f32, which at a mean of 1e4 may be off by 1e-3; the second takes the differences to it, which are exact
// then, and sums them as well as their squares, which gives the variance and what the mean was off by.
#include "kernels/layer_norm/layer_norm.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/layer_norm/layer_norm.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd/partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

constexpr int kTogether = 4;  // sums in flight: an addition takes 3 or 4 cycles

HWY_ATTR HWY_INLINE float total_of(const Slot (&sums)[kTogether]) {
  const D d;
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]))));
}

HWY_ATTR RowMoments<float> normalise(const float* x, const float* residual, std::int64_t n,
                                     const float* gamma, const float* beta, float epsilon, float* out) {
  const D d;
  const auto count = static_cast<float>(n);
  const std::int64_t group = kTogether * lanes();

  Slot sums[kTogether] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  for (std::int64_t first = 0; first < n; first += group) {
#pragma GCC unroll 4
    for (int u = 0; u < kTogether; ++u) {
      const std::int64_t i = first + u * lanes();
      if (i >= n) break;
      V value = load_some(x + i, n - i);
      if (residual != nullptr) value = hn::Add(value, load_some(residual + i, n - i));
      store_some(value, out + i, n - i);
      sums[u] = hn::Add(sums[u], value);
    }
  }
  const float near_mean = total_of(sums) / count;
  const V center = hn::Set(d, near_mean);

  Slot squares[kTogether] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  for (Slot& sum : sums) sum = hn::Zero(d);
  for (std::int64_t first = 0; first < n; first += group) {
#pragma GCC unroll 4
    for (int u = 0; u < kTogether; ++u) {
      const std::int64_t i = first + u * lanes();
      if (i >= n) break;
      const V apart = hn::Sub(load_some(out + i, n - i, near_mean), center);
      sums[u] = hn::Add(sums[u], apart);
      squares[u] = hn::MulAdd(apart, apart, squares[u]);
    }
  }
  const float off = total_of(sums) / count;
  const float spread = total_of(squares) / count - off * off;
  const float variance = spread < 0 ? 0 : spread;  // rounding may take the variance of equal numbers below 0
  const float inverse_deviation = 1 / std::sqrt(variance + epsilon);
  const V factor = hn::Set(d, inverse_deviation), rest = hn::Set(d, off);

  for (std::int64_t i = 0; i < n; i += lanes()) {
    const V apart = hn::Sub(hn::Sub(load_some(out + i, n - i), center), rest);
    V value = hn::Mul(apart, factor);
    if (gamma != nullptr) value = hn::Mul(value, load_some(gamma + i, n - i));
    if (beta != nullptr) value = hn::Add(value, load_some(beta + i, n - i));
    store_some(value, out + i, n - i);
  }
  return {near_mean + off, inverse_deviation};
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attend::kernels {
namespace {

HWY_EXPORT(normalise);

}  // namespace

RowMoments<float> layer_norm_row(const float* x, const float* residual, std::int64_t n, const float* gamma,
                                 const float* beta, float epsilon, float* out) noexcept {
  return HWY_DYNAMIC_DISPATCH(normalise)(x, residual, n, gamma, beta, epsilon, out);
}

}  // namespace attend::kernels
#endif
