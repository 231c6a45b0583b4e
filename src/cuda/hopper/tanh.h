// tanh(x) for the softcap without the special function unit, which has the exponentials to make: a product
// for |x| < 1, as nearly all scores are of their cap.
#pragma once

#include "cuda/visibility.h"

namespace attend::cuda {

// Of h = 2x, so that |x| < 1 is where the highest bit of h's exponent is not set: one operation finds out
// about two numbers.
inline constexpr std::uint32_t kTooLargeForTanh = 0x40000000u;

// tanh(x) / h in powers of t = h^2 < 4, relative error 8e-7: of a score of 50 under a cap of 50, 4e-5.
struct TanhTerms {
  float of[6];

  ATTEND_BOTH constexpr TanhTerms times(float factor) const {
    TanhTerms result{};
    for (int i = 0; i < 6; ++i) result.of[i] = of[i] * factor;
    return result;
  }
};
ATTEND_BOTH constexpr TanhTerms tanh_terms() {
  return {{0.4999997019767761f, -0.041661303490400314f, 0.004150447901338339f, -0.0004031692515127361f,
           3.27013767673634e-05f, -1.4975859130572644e-06f}};
}

template <class MultiplyAdd>
ATTEND_BOTH constexpr float tanh_polynomial(const TanhTerms& terms, float t, MultiplyAdd fma) {
  float y = fma(terms.of[5], t, terms.of[4]);
  for (int i = 3; i >= 0; --i) y = fma(y, t, terms.of[i]);
  return y;
}

}  // namespace attend::cuda
