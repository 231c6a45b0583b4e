#include "kernels/gru/gru.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gru/gru.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd/math-inl.h"
#include "kernels/simd/partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

HWY_ATTR void step_forward(const GruStep<float>& step) {
  const std::int64_t e = step.width;
  for (std::int64_t i = 0; i < e; i += lanes()) {
    const std::int64_t left = e - i;
    const auto gate = [&](std::int64_t which) HWY_ATTR {
      return sigmoid(
          hn::Add(load_some(step.gates + which * e + i, left), load_some(step.past + which * e + i, left)));
    };
    const Sigmoid reset = gate(0), update = gate(1);
    const V r = reset.share, z = update.share, rest = update.rest;
    const V term = load_some(step.past + 2 * e + i, left);
    const V n = hyperbolic_tangent(hn::MulAdd(r, term, load_some(step.gates + 2 * e + i, left)));
    store_some(r, step.gates + i, left);
    store_some(z, step.gates + e + i, left);
    store_some(n, step.gates + 2 * e + i, left);
    store_some(term, step.past_term + i, left);
    store_some(hn::MulAdd(rest, n, hn::Mul(z, load_some(step.before + i, left))), step.state + i, left);
  }
}

HWY_ATTR void step_backward(const GruStepBack<float>& step) {
  const D d;
  const V one = hn::Set(d, 1.0f);
  const std::int64_t e = step.width;
  for (std::int64_t i = 0; i < e; i += lanes()) {
    const std::int64_t left = e - i;
    const V r = load_some(step.gates + i, left), z = load_some(step.gates + e + i, left);
    const V n = load_some(step.gates + 2 * e + i, left), before = load_some(step.before + i, left);
    const V given = hn::Add(load_some(step.d_state + i, left), load_some(step.carried + i, left));
    const V rest = hn::Sub(one, z);
    const V d_n = hn::Mul(hn::Mul(given, rest), hn::NegMulAdd(n, n, one));
    const V d_z = hn::Mul(hn::Mul(given, hn::Sub(before, n)), hn::Mul(z, rest));
    const V d_r = hn::Mul(hn::Mul(d_n, load_some(step.past_term + i, left)), hn::Mul(r, hn::Sub(one, r)));
    store_some(d_r, step.gates + i, left);
    store_some(d_z, step.gates + e + i, left);
    store_some(d_n, step.gates + 2 * e + i, left);
    store_some(d_r, step.d_past + i, left);
    store_some(d_z, step.d_past + e + i, left);
    store_some(hn::Mul(d_n, r), step.d_past + 2 * e + i, left);
    store_some(hn::Mul(given, z), step.carried + i, left);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attend::kernels {
namespace {

HWY_EXPORT(step_forward);
HWY_EXPORT(step_backward);

}  // namespace

void gru_step(const GruStep<float>& step) noexcept { HWY_DYNAMIC_DISPATCH(step_forward)(step); }
void gru_step_back(const GruStepBack<float>& step) noexcept { HWY_DYNAMIC_DISPATCH(step_backward)(step); }

}  // namespace attend::kernels
#endif
