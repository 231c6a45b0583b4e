#include "kernels/adamw/adamw.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/adamw/adamw.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd/partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

HWY_ATTR void step_elements(const AdamStep& step, const float* gradients, std::int64_t n, float* values,
                            float* first, float* second) {
  const D d;
  const auto set = [&](double number) HWY_ATTR { return hn::Set(d, static_cast<float>(number)); };
  const auto count = static_cast<double>(step.step);
  const V factor = set(step.gradient_factor);
  const V keep1 = set(step.beta1), take1 = set(1 - step.beta1);
  const V keep2 = set(step.beta2), take2 = set(1 - step.beta2);
  const V shrink = set(step.rate * step.decay);
  const V pace = set(step.rate / (1 - std::pow(step.beta1, count)));
  const V root = set(1 / std::sqrt(1 - std::pow(step.beta2, count)));
  const V epsilon = set(step.epsilon);
  for (std::int64_t i = 0; i < n; i += lanes()) {
    const V g = hn::Mul(load_some(gradients + i, n - i), factor);
    const V m = hn::MulAdd(keep1, load_some(first + i, n - i), hn::Mul(take1, g));
    const V v = hn::MulAdd(keep2, load_some(second + i, n - i), hn::Mul(take2, hn::Mul(g, g)));
    const V size = hn::MulAdd(hn::Sqrt(v), root, epsilon);
    // What a value loses is small beside it, so its rounding is nothing; the value itself is rounded once.
    const V value = load_some(values + i, n - i);
    const V lost = hn::MulAdd(shrink, value, hn::Mul(pace, hn::Div(m, size)));
    store_some(m, first + i, n - i);
    store_some(v, second + i, n - i);
    store_some(hn::Sub(value, lost), values + i, n - i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attend::kernels {
namespace {

HWY_EXPORT(step_elements);

}  // namespace

void adamw(const AdamStep& step, const float* gradients, std::int64_t n, float* values, float* first,
           float* second) noexcept {
  HWY_DYNAMIC_DISPATCH(step_elements)(step, gradients, n, values, first, second);
}

void adamw(const AdamStep& step, const double* gradients, std::int64_t n, double* values, double* first,
           double* second) noexcept {
  const auto count = static_cast<double>(step.step);
  const double correct1 = 1 - std::pow(step.beta1, count), correct2 = 1 - std::pow(step.beta2, count);
  for (std::int64_t i = 0; i < n; ++i) {
    const double g = gradients[i] * step.gradient_factor;
    first[i] = step.beta1 * first[i] + (1 - step.beta1) * g;
    second[i] = step.beta2 * second[i] + (1 - step.beta2) * g * g;
    const double size = std::sqrt(second[i] / correct2) + step.epsilon;
    values[i] = values[i] * (1 - step.rate * step.decay) - step.rate / correct1 * first[i] / size;
  }
}

}  // namespace attend::kernels
#endif
