#include <cmath>

#include "kernels/swiglu/swiglu.h"

namespace attend::kernels {

void swiglu_row_reference(const double* gate, const double* up, std::int64_t n, double* out) noexcept {
  for (std::int64_t i = 0; i < n; ++i) out[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
}

void swiglu_row_backward_reference(const double* gate, const double* up, const double* d_out, std::int64_t n,
                                   double* d_gate, double* d_up) noexcept {
  for (std::int64_t i = 0; i < n; ++i) {
    const double share = 1 / (1 + std::exp(-gate[i])), rest = 1 / (1 + std::exp(gate[i]));
    const double g = gate[i], u = up[i], d = d_out[i];
    d_gate[i] = d * u * share * (1 + g * rest);
    d_up[i] = d * g * share;
  }
}

}  // namespace attend::kernels
