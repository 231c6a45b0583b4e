// How it works: some walks over a row, which stays in the first-level cache: the mean, the variance, the two
// means of the gradient, and the result.
#include "kernels/layer_norm/layer_norm_backward.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/layer_norm/layer_norm_backward.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd/partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

constexpr int kSums = 4;  // sums in flight: an addition takes 3 or 4 cycles

// The sums over a row of the two vectors that terms(place, count) returns, which are 0 beyond the row.
struct TwoSums {
  float first, second;
};

template <class Terms>
HWY_ATTR HWY_INLINE TwoSums sums_over(std::int64_t n, const Terms& terms) {
  const D d;
  Slot first[kSums] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  Slot second[kSums] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  for (std::int64_t start = 0; start < n; start += kSums * lanes()) {
#pragma GCC unroll 4
    for (int u = 0; u < kSums; ++u) {
      const std::int64_t i = start + u * lanes();
      if (i >= n) break;
      V a = first[u], b = second[u];
      terms(i, n - i, a, b);
      first[u] = a;
      second[u] = b;
    }
  }
  const auto total = [&](const Slot(&sums)[kSums]) HWY_ATTR {
    return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]))));
  };
  return {total(first), total(second)};
}

// x normalised, a vector at a time. The mean in f32 may be off by 1e-3 where it is 1e4; the differences to it
// are exact then, and their mean is what it was off by.
class Normalised {
 public:
  HWY_ATTR Normalised(const float* x, std::int64_t n, float epsilon) : x_(x) {
    const D d;
    const auto count = static_cast<float>(n);
    near_mean_ = sums_over(n, [&](std::int64_t i, std::int64_t left, V& sum, V&)
                                  HWY_ATTR { sum = hn::Add(sum, load_some(x + i, left)); })
                     .first /
                 count;
    const V center = hn::Set(d, near_mean_);
    const float near = near_mean_;
    const TwoSums apart = sums_over(n, [&](std::int64_t i, std::int64_t left, V& sum, V& squares) HWY_ATTR {
      const V difference = hn::Sub(load_some(x + i, left, near), center);
      sum = hn::Add(sum, difference);
      squares = hn::MulAdd(difference, difference, squares);
    });
    off_ = apart.first / count;
    const float spread = apart.second / count - off_ * off_;
    inverse_deviation_ = 1 / std::sqrt((spread < 0 ? 0 : spread) + epsilon);
  }

  HWY_ATTR V at(std::int64_t i, std::int64_t left) const {
    const D d;
    const V near = hn::Sub(load_some(x_ + i, left, near_mean_), hn::Set(d, near_mean_));
    const V apart = hn::Sub(near, hn::Set(d, off_));
    return hn::Mul(apart, hn::Set(d, inverse_deviation_));
  }
  float inverse_deviation() const { return inverse_deviation_; }

 private:
  const float* x_;
  float near_mean_, off_, inverse_deviation_;
};

HWY_ATTR void normalise_backward(const float* x, const float* d_out, const float* residual, std::int64_t n,
                                 const float* gamma, float epsilon, float* d_x) {
  const D d;
  const auto count = static_cast<float>(n);
  const Normalised y(x, n, epsilon);
  const auto gradient = [&](std::int64_t i, std::int64_t left) HWY_ATTR {
    const V g = load_some(d_out + i, left);
    return gamma == nullptr ? g : hn::Mul(g, load_some(gamma + i, left));
  };
  const TwoSums sums = sums_over(n, [&](std::int64_t i, std::int64_t left, V& sum, V& products) HWY_ATTR {
    const V g = gradient(i, left);
    sum = hn::Add(sum, g);
    products = hn::MulAdd(g, y.at(i, left), products);
  });
  const V mean = hn::Set(d, sums.first / count), along = hn::Set(d, sums.second / count);
  const V factor = hn::Set(d, y.inverse_deviation());
  for (std::int64_t i = 0; i < n; i += lanes()) {
    const std::int64_t left = n - i;
    const V rest = hn::NegMulAdd(y.at(i, left), along, hn::Sub(gradient(i, left), mean));
    const V more = residual == nullptr ? hn::Zero(d) : load_some(residual + i, left);
    store_some(hn::MulAdd(rest, factor, more), d_x + i, left);
  }
}

HWY_ATTR void add_factor_gradients(const float* x, const float* d_out, std::int64_t n, float epsilon,
                                   float* d_gamma, float* d_beta) {
  if (d_gamma != nullptr) {
    const Normalised y(x, n, epsilon);
    for (std::int64_t i = 0; i < n; i += lanes()) {
      const V sum = load_some(d_gamma + i, n - i);
      store_some(hn::MulAdd(load_some(d_out + i, n - i), y.at(i, n - i), sum), d_gamma + i, n - i);
    }
  }
  if (d_beta != nullptr) {
    for (std::int64_t i = 0; i < n; i += lanes())
      store_some(hn::Add(load_some(d_beta + i, n - i), load_some(d_out + i, n - i)), d_beta + i, n - i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attend::kernels {
namespace {

HWY_EXPORT(normalise_backward);
HWY_EXPORT(add_factor_gradients);

}  // namespace

void layer_norm_row_backward(const float* x, const float* d_out, const float* residual, std::int64_t n,
                             const float* gamma, float epsilon, float* d_x) noexcept {
  HWY_DYNAMIC_DISPATCH(normalise_backward)(x, d_out, residual, n, gamma, epsilon, d_x);
}

void add_layer_norm_factors(const float* x, const float* d_out, std::int64_t n, float epsilon, float* d_gamma,
                            float* d_beta) noexcept {
  HWY_DYNAMIC_DISPATCH(add_factor_gradients)(x, d_out, n, epsilon, d_gamma, d_beta);
}

}  // namespace attend::kernels
#endif
