#include <cmath>

#include "kernels/gru/gru.h"

namespace attend::kernels {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace

void gru_step(const GruStep<double>& step) noexcept {
  const std::int64_t e = step.width;
  for (std::int64_t i = 0; i < e; ++i) {
    double* const gates = step.gates + i;
    const double* const past = step.past + i;
    const double r = sigmoid(gates[0] + past[0]), z = sigmoid(gates[e] + past[e]);
    const double n = std::tanh(gates[2 * e] + r * past[2 * e]);
    gates[0] = r;
    gates[e] = z;
    gates[2 * e] = n;
    step.past_term[i] = past[2 * e];
    step.state[i] = (1 - z) * n + z * step.before[i];
  }
}

void gru_step_back(const GruStepBack<double>& step) noexcept {
  const std::int64_t e = step.width;
  for (std::int64_t i = 0; i < e; ++i) {
    double* const gates = step.gates + i;
    double* const d_past = step.d_past + i;
    const double r = gates[0], z = gates[e], n = gates[2 * e];
    const double given = step.d_state[i] + step.carried[i];
    const double d_n = given * (1 - z) * (1 - n * n);
    const double d_z = given * (step.before[i] - n) * z * (1 - z);
    const double d_r = d_n * step.past_term[i] * r * (1 - r);
    gates[0] = d_past[0] = d_r;
    gates[e] = d_past[e] = d_z;
    gates[2 * e] = d_n;
    d_past[2 * e] = d_n * r;
    step.carried[i] = given * z;
  }
}

}  // namespace attend::kernels
