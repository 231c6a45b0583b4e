#include "kernels/rms_norm/rms_norm.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rms_norm/rms_norm.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd/partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

constexpr int kSums = 4;  // sums in flight: a multiply-add takes 4 cycles

// The sum of a[i] b[i] c[i]; c may be null.
HWY_ATTR float sum_of_products(const float* a, const float* b, const float* c, std::int64_t n) {
  const D d;
  Slot sums[kSums] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  for (std::int64_t first = 0; first < n; first += kSums * lanes()) {
#pragma GCC unroll 4
    for (int u = 0; u < kSums; ++u) {
      const std::int64_t i = first + u * lanes();
      if (i >= n) break;
      V left = load_some(a + i, n - i);
      if (c != nullptr) left = hn::Mul(left, load_some(c + i, n - i));
      sums[u] = hn::MulAdd(left, load_some(b + i, n - i), sums[u]);
    }
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]))));
}

HWY_ATTR HWY_INLINE float inverse_rms(const float* x, std::int64_t n, float epsilon) {
  return 1 / std::sqrt(sum_of_products(x, x, nullptr, n) / static_cast<float>(n) + epsilon);
}

HWY_ATTR void rms_elements(const float* x, std::int64_t n, const float* gamma, float epsilon, float* out) {
  const V factor = hn::Set(D(), inverse_rms(x, n, epsilon));
  for (std::int64_t i = 0; i < n; i += lanes()) {
    V value = hn::Mul(load_some(x + i, n - i), factor);
    if (gamma != nullptr) value = hn::Mul(value, load_some(gamma + i, n - i));
    store_some(value, out + i, n - i);
  }
}

HWY_ATTR void rms_gradients(const float* x, const float* d_out, const float* residual, std::int64_t n,
                            const float* gamma, float epsilon, float* d_x) {
  const D d;
  const float r = inverse_rms(x, n, epsilon);
  const float mean = sum_of_products(d_out, x, gamma, n) / static_cast<float>(n);
  const V factor = hn::Set(d, r), share = hn::Set(d, r * r * mean);
  for (std::int64_t i = 0; i < n; i += lanes()) {
    V g = load_some(d_out + i, n - i);
    if (gamma != nullptr) g = hn::Mul(g, load_some(gamma + i, n - i));
    V value = hn::Mul(factor, hn::NegMulAdd(load_some(x + i, n - i), share, g));
    if (residual != nullptr) value = hn::Add(value, load_some(residual + i, n - i));
    store_some(value, d_x + i, n - i);
  }
}

HWY_ATTR void add_rms_factors(const float* x, const float* d_out, std::int64_t n, float epsilon,
                              float* d_gamma) {
  const V factor = hn::Set(D(), inverse_rms(x, n, epsilon));
  for (std::int64_t i = 0; i < n; i += lanes()) {
    const V y = hn::Mul(load_some(x + i, n - i), factor);
    store_some(hn::MulAdd(load_some(d_out + i, n - i), y, load_some(d_gamma + i, n - i)), d_gamma + i, n - i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attend::kernels {
namespace {

HWY_EXPORT(rms_elements);
HWY_EXPORT(rms_gradients);
HWY_EXPORT(add_rms_factors);

}  // namespace

void rms_norm_row(const float* x, std::int64_t n, const float* gamma, float epsilon, float* out) noexcept {
  HWY_DYNAMIC_DISPATCH(rms_elements)(x, n, gamma, epsilon, out);
}

void rms_norm_row_backward(const float* x, const float* d_out, const float* residual, std::int64_t n,
                           const float* gamma, float epsilon, float* d_x) noexcept {
  HWY_DYNAMIC_DISPATCH(rms_gradients)(x, d_out, residual, n, gamma, epsilon, d_x);
}

void add_rms_norm_factors(const float* x, const float* d_out, std::int64_t n, float epsilon,
                          float* d_gamma) noexcept {
  HWY_DYNAMIC_DISPATCH(add_rms_factors)(x, d_out, n, epsilon, d_gamma);
}

}  // namespace attend::kernels
#endif
