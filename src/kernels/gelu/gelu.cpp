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

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attend::kernels {
namespace {

HWY_EXPORT(gelu_elements);

}  // namespace

void gelu_row(const float* x, std::int64_t n, Activation form, float* out) noexcept {
  HWY_DYNAMIC_DISPATCH(gelu_elements)(x, n, form, out);
}

}  // namespace attend::kernels
#endif
