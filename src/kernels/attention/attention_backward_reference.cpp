#include "kernels/attention/attention_backward_reference.h"

#include <cmath>

#include "kernels/attention/attention_reference.h"

namespace attend::kernels {
namespace {

double dot(const double* a, const double* b, std::int64_t n) noexcept {
  double sum = 0;
  for (std::int64_t c = 0; c < n; ++c) sum += a[c] * b[c];
  return sum;
}

void add_scaled(double* target, double factor, const double* source, std::int64_t n) noexcept {
  for (std::int64_t c = 0; c < n; ++c) target[c] += factor * source[c];
}

// d cap tanh(s / cap) / ds
double cap_slope(const Head<double>& head, std::int64_t i, std::int64_t j) noexcept {
  if (head.softcap == 0) return 1;
  const double tanh = std::tanh(head.scale * dot(head.query(i), head.key(j), head.d) / head.softcap);
  return 1 - tanh * tanh;
}

}  // namespace

// With o = sum_j m_j w_j v_j, w = softmax(b) and m what dropout multiplies with:
//   dv_j += m_j w_j do        dw_j = m_j do.v_j
//   db_j  = w_j (dw_j - delta), delta = sum_j w_j dw_j           (the sink: db = w_sink (0 - delta))
//   ds_j  = db_j cap'(s_j)
//   dq   += scale sum_j ds_j k_j                 dk_j += scale ds_j q
void attention_backward_reference(const Head<double>& head, std::int64_t first, std::int64_t last,
                                  const double* d_out, std::int64_t d_out_stride,
                                  const HeadGradients& gradients, double* scratch) noexcept {
  double* const biased = scratch;
  double* const d_weight = scratch + head.keys;
  const auto takes_part = [&](std::int64_t j) { return biased[j] != kMinusInfinity<double>; };

  for (std::int64_t i = first; i < last; ++i) {
    const double* const d_o = d_out + i * d_out_stride;
    const RowStatistics row = biased_row_reference(head, i, biased);

    double delta = 0;
    for (std::int64_t j = 0; j < head.keys; ++j) {
      if (!takes_part(j)) continue;
      d_weight[j] = head.dropped(i, j, dot(d_o, head.value(j), head.dv));
      delta += weight_reference(biased[j], row) * d_weight[j];
    }
    if (gradients.sink != nullptr) *gradients.sink -= weight_reference(head.sink, row) * delta;

    for (std::int64_t j = 0; j < head.keys; ++j) {
      if (!takes_part(j)) continue;
      const double weight = weight_reference(biased[j], row);
      const double d_biased = weight * (d_weight[j] - delta);
      const double d_score = head.scale * d_biased * cap_slope(head, i, j);
      if (gradients.v != nullptr)
        add_scaled(gradients.v + j * gradients.v_stride, head.dropped(i, j, weight), d_o, head.dv);
      if (gradients.q != nullptr)
        add_scaled(gradients.q + i * gradients.q_stride, d_score, head.key(j), head.d);
      if (gradients.k != nullptr)
        add_scaled(gradients.k + j * gradients.k_stride, d_score, head.query(i), head.d);
      if (gradients.bias != nullptr) {
        gradients.bias[i * gradients.bias_query_stride + j * gradients.bias_key_stride] += d_biased;
      }
      if (gradients.alibi_slope != nullptr) *gradients.alibi_slope -= d_biased * head.distance(i, j);
    }
  }
}

}  // namespace attend::kernels
