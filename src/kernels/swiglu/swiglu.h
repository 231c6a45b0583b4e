// SwiGLU of a row, gate / (1 + exp(-gate)) up, and its gradients: f32 over Google Highway, and float64 as the
// formula has it.
#pragma once

#include <cstdint>

namespace attend::kernels {

// out[i] = gate[i] sigmoid(gate[i]) up[i], i < n. out may be either.
void swiglu_row(const float* gate, const float* up, std::int64_t n, float* out) noexcept;
void swiglu_row_reference(const double* gate, const double* up, std::int64_t n, double* out) noexcept;

// d_gate = d_out up s (1 + gate (1 - s)) and d_up = d_out gate s, with s = sigmoid(gate). They may be gate,
// up or d_out.
void swiglu_row_backward(const float* gate, const float* up, const float* d_out, std::int64_t n,
                         float* d_gate, float* d_up) noexcept;
void swiglu_row_backward_reference(const double* gate, const double* up, const double* d_out, std::int64_t n,
                                   double* d_gate, double* d_up) noexcept;

}  // namespace attend::kernels
