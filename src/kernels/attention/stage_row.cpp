#include "kernels/attention/stage_row.h"

#include <cmath>

namespace attend::kernels {
namespace {

// Partial sums of a dot product: vectors for the compiler, and a sixteenth of the error.
constexpr std::int64_t kLanes = 16;

float dot(const float* a, const float* b, std::int64_t n) noexcept {
  float lane[kLanes] = {};
  std::int64_t c = 0;
  for (; c + kLanes <= n; c += kLanes) {
    for (std::int64_t l = 0; l < kLanes; ++l) lane[l] += a[c + l] * b[c + l];
  }
  for (std::int64_t l = 0; c < n; ++c, ++l) lane[l] += a[c] * b[c];
  for (std::int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::int64_t l = 0; l < half; ++l) lane[l] += lane[l + half];
  }
  return lane[0];
}

float capped_score(const Head<float>& head, const float* query, std::int64_t j) noexcept {
  const float score = head.scale * dot(query, head.key(j), head.d);
  return head.softcap == 0 ? score : head.softcap * std::tanh(score / head.softcap);
}

struct Row {
  KeyRange range;  // outside it nothing was written
  float max = 0;   // -inf: no key takes part
};

Row biased_row(const Head<float>& head, std::int64_t i, float* biased) noexcept {
  const KeyRange range = head.visible.keys_of(i);
  const float* const query = head.query(i);
  float max = head.sink;
  bool any_nan = false;
  for (std::int64_t j = range.begin; j < range.end; ++j) {
    if (!head.takes_part(i, j)) {
      biased[j] = kMinusInfinity<float>;
      continue;
    }
    float value = capped_score(head, query, j) + head.bias_at(i, j);
    if (head.alibi_slope != 0) value -= head.alibi_slope * head.distance(i, j);
    biased[j] = value;
    max = value > max ? value : max;
    any_nan |= value != value;
  }
  return {range, any_nan ? std::numeric_limits<float>::quiet_NaN() : max};
}

// The double keeps rows of any length adding up to 1 within 1e-6.
double sum_of_exponentials(const Head<float>& head, const Row& row, const float* biased) noexcept {
  if (row.max == kMinusInfinity<float>) return 0;
  double sum = std::exp(head.sink - row.max);
  for (std::int64_t j = row.range.begin; j < row.range.end; ++j) sum += std::exp(biased[j] - row.max);
  return sum;
}

}  // namespace

void stage_row(const Head<float>& head, std::int64_t i, Stage stage, float* row) noexcept {
  if (stage == Stage::scores || stage == Stage::capped) {
    for (std::int64_t j = 0; j < head.keys; ++j) {
      row[j] = stage == Stage::scores ? head.scale * dot(head.query(i), head.key(j), head.d)
                                      : capped_score(head, head.query(i), j);
    }
    return;
  }
  std::fill(row, row + head.keys, kMinusInfinity<float>);
  const Row statistics = biased_row(head, i, row);
  if (stage == Stage::biased) return;

  const double sum = sum_of_exponentials(head, statistics, row);
  for (std::int64_t j = 0; j < head.keys; ++j) {
    row[j] =
        row[j] == kMinusInfinity<float> ? 0.0f : static_cast<float>(std::exp(row[j] - statistics.max) / sum);
  }
}

}  // namespace attend::kernels
