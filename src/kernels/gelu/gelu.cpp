#include "kernels/gelu/gelu.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gelu/gelu.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd/gelu-inl.h"
#include "kernels/simd/partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

HWY_ATTR void gelu_elements(const float* x, std::int64_t n, Activation form, float* out) {
  const bool by_tanh = form == Activation::gelu_tanh;
  for (std::int64_t i = 0; i < n; i += lanes()) {
    const V value = load_some(x + i, n - i);
    store_some(by_tanh ? gelu_tanh(value) : gelu_erf(value), out + i, n - i);
  }
}

HWY_ATTR void gelu_gradients(const float* x, const float* d_out, std::int64_t n, Activation form,
                             float* d_x) {
  const bool by_tanh = form == Activation::gelu_tanh;
  for (std::int64_t i = 0; i < n; i += lanes()) {
    const V value = load_some(x + i, n - i);
    const V slope = by_tanh ? gelu_tanh_slope(value) : gelu_erf_slope(value);
    store_some(hn::Mul(load_some(d_out + i, n - i), slope), d_x + i, n - i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attend::kernels {
namespace {

HWY_EXPORT(gelu_elements);
HWY_EXPORT(gelu_gradients);

}  // namespace

void gelu_row(const float* x, std::int64_t n, Activation form, float* out) noexcept {
  HWY_DYNAMIC_DISPATCH(gelu_elements)(x, n, form, out);
}

void gelu_row_backward(const float* x, const float* d_out, std::int64_t n, Activation form,
                       float* d_x) noexcept {
  HWY_DYNAMIC_DISPATCH(gelu_gradients)(x, d_out, n, form, d_x);
}

}  // namespace attend::kernels
#endif
