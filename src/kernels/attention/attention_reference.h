// The float64 reference of attention, forward: plain loops beside the formula. Every other kernel is judged
// by it.
#pragma once

#include <attend/stage.h>

#include "kernels/attention/head.h"

namespace attend::kernels {

// One row at one stage: row[0 .. keys).
void stage_row_reference(const Head<double>& head, std::int64_t query, Stage stage, double* row) noexcept;

// The biased scores of one row and, from them, its maximum and its sum of exp(biased - maximum), the sink
// included.
struct RowStatistics {
  double max = 0;
  double sum = 0;
};
RowStatistics biased_row_reference(const Head<double>& head, std::int64_t query, double* biased) noexcept;

// The weight that a biased score becomes.
double weight_reference(double biased, RowStatistics row) noexcept;

// Rows [first, last). scratch: scratch_size_reference(head) elements.
void attention_reference(const Head<double>& head, std::int64_t first, std::int64_t last,
                         const HeadOutput<double>& output, double* scratch) noexcept;
inline std::int64_t scratch_size_reference(std::int64_t keys) noexcept { return keys; }

}  // namespace attend::kernels
