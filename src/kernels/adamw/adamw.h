// One step of AdamW (Loshchilov and Hutter 2019) over a run of numbers.
#pragma once

#include <cstdint>

namespace attend::kernels {

// What a step needs beside the numbers. `step` counts from 1.
struct AdamStep {
  double rate = 0, beta1 = 0, beta2 = 0, epsilon = 0, decay = 0;
  double gradient_factor = 1;  // each gradient is multiplied by it first: clipping
  std::int64_t step = 1;
};

// m = beta1 m + (1 - beta1) g,  v = beta2 v + (1 - beta2) g^2,
// p = p (1 - rate decay) - rate m / (1 - beta1^step) / (sqrt(v / (1 - beta2^step)) + epsilon).
// The f32 form is over Google Highway; that of doubles as the formula has it.
void adamw(const AdamStep& step, const float* gradients, std::int64_t n, float* values, float* first,
           float* second) noexcept;
void adamw(const AdamStep& step, const double* gradients, std::int64_t n, double* values, double* first,
           double* second) noexcept;

}  // namespace attend::kernels
