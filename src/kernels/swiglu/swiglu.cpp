#include "kernels/swiglu/swiglu.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/swiglu/swiglu.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd/math-inl.h"
#include "kernels/simd/partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

HWY_ATTR void swiglu_elements(const float* gate, const float* up, std::int64_t n, float* out) {
  for (std::int64_t i = 0; i < n; i += lanes()) {
    const V g = load_some(gate + i, n - i), share = sigmoid(g).share;
    store_some(hn::Mul(hn::Mul(g, share), load_some(up + i, n - i)), out + i, n - i);
  }
}

HWY_ATTR void swiglu_gradients(const float* gate, const float* up, const float* d_out, std::int64_t n,
                               float* d_gate, float* d_up) {
  const D d;
  for (std::int64_t i = 0; i < n; i += lanes()) {
    const V g = load_some(gate + i, n - i), u = load_some(up + i, n - i), given = load_some(d_out + i, n - i);
    const Sigmoid s = sigmoid(g);
    const V share = s.share, rest = s.rest;
    const V slope = hn::Mul(share, hn::MulAdd(g, rest, hn::Set(d, 1.0f)));
    store_some(hn::Mul(hn::Mul(given, u), slope), d_gate + i, n - i);
    store_some(hn::Mul(given, hn::Mul(g, share)), d_up + i, n - i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attend::kernels {
namespace {

HWY_EXPORT(swiglu_elements);
HWY_EXPORT(swiglu_gradients);

}  // namespace

void swiglu_row(const float* gate, const float* up, std::int64_t n, float* out) noexcept {
  HWY_DYNAMIC_DISPATCH(swiglu_elements)(gate, up, n, out);
}

void swiglu_row_backward(const float* gate, const float* up, const float* d_out, std::int64_t n,
                         float* d_gate, float* d_up) noexcept {
  HWY_DYNAMIC_DISPATCH(swiglu_gradients)(gate, up, d_out, n, d_gate, d_up);
}

}  // namespace attend::kernels
#endif
