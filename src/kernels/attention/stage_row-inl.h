// One row of scores, keys in lanes: capped to biased, biased to weights, in place. A key's number takes the
// same operations wherever it is in a vector, and a key that takes no part adds an exact 0.
#if defined(ATTEND_KERNELS_ATTENTION_STAGE_ROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_ATTENTION_STAGE_ROW_INL_H_
#undef ATTEND_KERNELS_ATTENTION_STAGE_ROW_INL_H_
#else
#define ATTEND_KERNELS_ATTENTION_STAGE_ROW_INL_H_
#endif

#include <algorithm>
#include <limits>

#include "kernels/attention/score_tile-inl.h"
#include "kernels/attention/weights.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

// body(x, key) -> x for vectors of row[0 .. keys), which begin at multiples of a vector. Beyond the row the
// last vector holds -inf.
template <class Body>
HWY_ATTR HWY_INLINE void for_vectors(float* row, KeyRange range, std::int64_t keys, Body body) {
  const D d;
  HWY_ALIGN float part[HWY_MAX_BYTES / sizeof(float)];
  std::int64_t key = range.begin / lanes() * lanes();
  for (; key < range.end && key + lanes() <= keys; key += lanes()) {
    hn::StoreU(body(hn::LoadU(d, row + key), key), d, row + key);
  }
  if (key >= range.end) return;
  std::fill(part, part + lanes(), kMinusInfinity<float>);
  std::copy(row + key, row + keys, part);
  hn::Store(body(hn::Load(d, part), key), d, part);
  std::copy(part, part + (keys - key), row + key);
}

// Capped scores become biased ones: -inf for a key that takes no part.
HWY_ATTR inline void bias_row(const Head<float>& head, std::int64_t query, float* row) {
  const D d;
  const DI di;
  const KeyRange range = head.visible.keys_of(query);
  std::fill(row, row + range.begin, kMinusInfinity<float>);
  std::fill(row + range.end, row + head.keys, kMinusInfinity<float>);
  if (range.begin == range.end) return;
  if (head.alibi_slope != 0) {
    const V slope = hn::Set(d, head.alibi_slope);
    const V lane = hn::ConvertTo(d, hn::Iota(di, 0));
    for_vectors(row, range, head.keys, [&](V x, std::int64_t key) HWY_ATTR {
      const V ahead = hn::Set(d, static_cast<float>(query + head.visible.query_offset - key));
      return hn::NegMulAdd(slope, hn::Abs(hn::Sub(ahead, lane)), x);
    });
  }
  if (head.bias != nullptr) {
    const float* const bias = head.bias + query * head.bias_query_stride;
    for (std::int64_t j = range.begin; j < range.end; ++j) {
      const float added = bias[j * head.bias_key_stride];
      row[j] = added == kMinusInfinity<float> ? added : row[j] + added;
    }
  }
  if (head.mask != nullptr) {
    const std::uint8_t* const mask = head.mask + query * head.mask_query_stride;
    for (std::int64_t j = range.begin; j < range.end; ++j) {
      if (mask[j * head.mask_key_stride] == 0) row[j] = kMinusInfinity<float>;
    }
  }
}

struct RowMaximum {
  float max;
  bool any_nan;
};
HWY_ATTR inline RowMaximum maximum_of_row(const Head<float>& head, KeyRange range, float* row) {
  const D d;
  V largest = hn::Set(d, kMinusInfinity<float>), wrong = hn::Zero(d);
  for_vectors(row, range, head.keys, [&](V x, std::int64_t) HWY_ATTR {
    largest = hn::IfThenElse(hn::Gt(x, largest), x, largest);
    wrong = hn::IfThenElse(hn::Eq(x, x), wrong, x);
    return x;
  });
  const float max = std::max(head.sink, hn::GetLane(hn::MaxOfLanes(d, largest)));
  return {max, !hn::AllTrue(d, hn::Eq(wrong, wrong)) || max == -kMinusInfinity<float>};
}

// The numerators in place of the scores, and their sum, the sink included. Blocks of 8 vectors are added up
// in f32 and join in f64: rows of any length then add up to 1 within 1e-6.
HWY_ATTR inline double exponentiate_row(const Head<float>& head, KeyRange range, float max, float* row) {
  const D d;
  HWY_ALIGN float part[HWY_MAX_BYTES / sizeof(float)];
  const V base = hn::Set(d, max);
  V block = hn::Zero(d);
  double sum = 0;
  const auto close = [&]() HWY_ATTR {
    hn::Store(block, d, part);
    for (std::int64_t l = 0; l < lanes(); ++l) sum += static_cast<double>(part[l]);
    block = hn::Zero(d);
  };
  for_vectors(row, range, head.keys, [&](V x, std::int64_t key) HWY_ATTR {
    if (key / lanes() % 8 == 0) close();
    const V p = exponential(hn::Sub(x, base));
    block = hn::Add(block, p);
    return p;
  });
  close();
  hn::Store(exponential(hn::Set(d, head.sink - max)), d, part);
  return sum + static_cast<double>(part[0]);
}

// Biased scores become weights.
HWY_ATTR inline void weigh_row(const Head<float>& head, const RowStateInput<float>& state, std::int64_t query,
                               float* row) {
  const D d;
  const KeyRange range = head.visible.keys_of(query);
  const bool given = state.max != nullptr;
  float max = 0;
  double sum = 0;
  bool is_empty = false, is_nan = false;
  if (given) {
    max = state.max[query * state.max_stride];
    sum = static_cast<double>(state.sum[query * state.sum_stride]);
    is_empty = sum == 0;
    is_nan = !(max - max == 0 && sum - sum == 0);
  } else {
    const RowMaximum found = maximum_of_row(head, range, row);
    max = found.max;
    is_empty = max == kMinusInfinity<float> && !found.any_nan;
    is_nan = found.any_nan;
  }
  if (is_empty) return std::fill(row, row + head.keys, 0.0f);
  if (is_nan) {
    for (std::int64_t j = 0; j < head.keys; ++j) {
      row[j] = row[j] == kMinusInfinity<float> ? 0.0f : std::numeric_limits<float>::quiet_NaN();
    }
    return;
  }
  const double added = exponentiate_row(head, range, max, row);
  const V inverse = hn::Set(d, static_cast<float>(1 / (given ? sum : added)));
  std::fill(row, row + range.begin, 0.0f);
  std::fill(row + range.end, row + head.keys, 0.0f);
  for_vectors(row, range, head.keys, [&](V p, std::int64_t) HWY_ATTR { return hn::Mul(p, inverse); });
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#endif  // ATTEND_KERNELS_ATTENTION_STAGE_ROW_INL_H_
