// AdamW (Loshchilov and Hutter 2019), with gradients clipped by their norm, and its rate over time.
#pragma once

#include <cstdint>

#include "train/parameters.h"

namespace attend::train {

struct AdamWOptions {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double decay = 0.01;  // of matrices; biases and norms do not decay
  double clip = 1;      // the largest norm of all gradients together; 0: none
};

// From 0 up to `peak` over the first `warmup` steps, then along half a cosine down to `floor` times the peak
// at the last.
struct Schedule {
  double peak = 1e-3, floor = 0.1;
  std::int64_t warmup = 100, steps = 1000;
  double rate(std::int64_t step) const;  // of step 1, 2, ...
};

// The square root of the sum of all squares, added up in float64 in a fixed order.
double gradient_norm(Parameters& parameters);

// Step number `step` (from 1) from the accumulated gradients; `norm` is their norm.
void adamw_step(Parameters& parameters, const AdamWOptions& options, double rate, std::int64_t step,
                double norm);

}  // namespace attend::train
