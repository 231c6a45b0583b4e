#include "kernels/attention/attention_reference.h"

#include <cmath>

namespace attend::kernels {
namespace {

// s = scale sum_c q_c k_c
double score(const Head<double>& head, std::int64_t i, std::int64_t j) noexcept {
  const double* q = head.query(i);
  const double* k = head.key(j);
  double sum = 0;
  for (std::int64_t c = 0; c < head.d; ++c) sum += q[c] * k[c];
  return head.scale * sum;
}

// cap tanh(s / cap)
double capped(const Head<double>& head, double s) noexcept {
  return head.softcap == 0 ? s : head.softcap * std::tanh(s / head.softcap);
}

}  // namespace

RowStatistics biased_row_reference(const Head<double>& head, std::int64_t i, double* biased) noexcept {
  const KeyRange range = head.visible.keys_of(i);
  double max = head.sink;
  for (std::int64_t j = 0; j < head.keys; ++j) {
    biased[j] = kMinusInfinity<double>;
    if (j < range.begin || j >= range.end || !head.takes_part(i, j)) continue;
    biased[j] = capped(head, score(head, i, j)) + head.bias_at(i, j);
    if (head.alibi_slope != 0) biased[j] -= head.alibi_slope * head.distance(i, j);
    if (biased[j] > max || std::isnan(biased[j])) max = biased[j];
  }
  if (max == kMinusInfinity<double>) return {max, 0};  // no key takes part

  double sum = std::exp(head.sink - max);
  for (std::int64_t j = range.begin; j < range.end; ++j) sum += std::exp(biased[j] - max);
  return {max, sum};
}

double weight_reference(double biased, RowStatistics row) noexcept {
  return biased == kMinusInfinity<double> ? 0 : std::exp(biased - row.max) / row.sum;
}

void stage_row_reference(const Head<double>& head, std::int64_t i, Stage stage, double* row) noexcept {
  if (stage == Stage::scores || stage == Stage::capped) {
    for (std::int64_t j = 0; j < head.keys; ++j) {
      const double s = score(head, i, j);
      row[j] = stage == Stage::scores ? s : capped(head, s);
    }
    return;
  }
  const RowStatistics statistics = biased_row_reference(head, i, row);
  if (stage == Stage::biased) return;
  for (std::int64_t j = 0; j < head.keys; ++j) row[j] = weight_reference(row[j], statistics);
}

void attention_reference(const Head<double>& head, std::int64_t first, std::int64_t last,
                         const HeadOutput<double>& output, double* scratch) noexcept {
  double* const biased = scratch;
  for (std::int64_t i = first; i < last; ++i) {
    const RowStatistics row = biased_row_reference(head, i, biased);
    output.set_state(i, row.max, row.sum);

    // o = sum_j w_j v_j, without the weights that were dropped
    double* const out = output.out + i * output.out_stride;
    for (std::int64_t c = 0; c < head.dv; ++c) out[c] = 0;
    for (std::int64_t j = 0; j < head.keys; ++j) {
      if (biased[j] == kMinusInfinity<double>) continue;
      const double weight = head.dropped(i, j, weight_reference(biased[j], row));
      for (std::int64_t c = 0; c < head.dv; ++c) out[c] += weight * head.value(j)[c];
    }
  }
}

}  // namespace attend::kernels
