// 2^x on the multiply-add pipes, for a share of the exponentials: the special function unit makes 16 a clock
// and multiprocessor, which is what limits heads of 64.
#pragma once

#include "cuda/visibility.h"

namespace attend::cuda {

// 2^r for |r| <= 1/2, relative error 3e-6: a hundredth of the rounding of a weight to f16.
ATTEND_BOTH constexpr float exp2_polynomial(float r) {
  constexpr float c0 = 0.99999928f, c1 = 0.69312179f, c2 = 0.24024744f, c3 = 0.055917863f, c4 = 0.0095701022f;
  return (((c4 * r + c3) * r + c2) * r + c1) * r + c0;
}

}  // namespace attend::cuda
