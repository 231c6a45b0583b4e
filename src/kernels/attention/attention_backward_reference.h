// The float64 reference of attention, backward. The weights of a row are recomputed, so memory stays O(keys).
#pragma once

#include "kernels/attention/head.h"

namespace attend::kernels {

// Gradients of one head, added to what is there. Any pointer may be null, strides as in Head.
struct HeadGradients {
  double* q = nullptr;  // (queries, d)
  double* k = nullptr;  // (keys, d)
  double* v = nullptr;  // (keys, dv)
  std::int64_t q_stride = 0, k_stride = 0, v_stride = 0;
  double* bias = nullptr;  // (queries, keys), with the strides of the bias, 0 where it is broadcast
  std::int64_t bias_query_stride = 0, bias_key_stride = 0;
  double* alibi_slope = nullptr;
  double* sink = nullptr;
};

// What queries [first, last) add. d_out: (queries, dv). scratch: scratch_size_backward_reference(keys)
// elements.
void attention_backward_reference(const Head<double>& head, std::int64_t first, std::int64_t last,
                                  const double* d_out, std::int64_t d_out_stride,
                                  const HeadGradients& gradients, double* scratch) noexcept;
inline std::int64_t scratch_size_backward_reference(std::int64_t keys) noexcept { return 2 * keys; }

}  // namespace attend::kernels
