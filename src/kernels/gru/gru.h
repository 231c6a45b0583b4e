// One step of a gated recurrent unit (Cho et al. 2014, in PyTorch's form) for one sequence, and its
// gradients: f32 over Google Highway, and float64 as the formula has it.
//
//   r = sigmoid(x_r + h_r)   z = sigmoid(x_z + h_z)   n = tanh(x_n + r h_n)   state = (1 - z) n + z before
//
// x_ and h_ are what the input's and the state's matrix make of them.
#pragma once

#include <cstdint>

namespace attend::kernels {

// Rows that overlap nowhere.
template <class T>
struct GruStep {
  std::int64_t width = 0;     // E
  T* gates = nullptr;         // (3 E): x_r, x_z, x_n become r, z, n
  const T* past = nullptr;    // (3 E): h_r, h_z, h_n
  T* past_term = nullptr;     // (E): h_n, kept for the backward pass
  const T* before = nullptr;  // (E): the state before
  T* state = nullptr;         // (E)
};

template <class T>
struct GruStepBack {
  std::int64_t width = 0;
  T* gates = nullptr;            // (3 E): r, z, n become the gradients of x_r, x_z, x_n
  const T* past_term = nullptr;  // (E)
  const T* before = nullptr;     // (E)
  const T* d_state = nullptr;    // (E): from what reads the state
  T* carried = nullptr;          // (E): from the step after; becomes the share that passes through z
  T* d_past = nullptr;           // (3 E): the gradients of h_r, h_z, h_n
};

void gru_step(const GruStep<float>& step) noexcept;
void gru_step(const GruStep<double>& step) noexcept;
void gru_step_back(const GruStepBack<float>& step) noexcept;
void gru_step_back(const GruStepBack<double>& step) noexcept;

}  // namespace attend::kernels
