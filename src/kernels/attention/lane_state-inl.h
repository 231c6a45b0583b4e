// The maximum and the sum of each row of a tile of queries: read from what attention() stored, or
// computed from the scores. From them exp(score - max) / sum is the weight.
#if defined(ATTEND_KERNELS_ATTENTION_LANE_STATE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_ATTENTION_LANE_STATE_INL_H_
#undef ATTEND_KERNELS_ATTENTION_LANE_STATE_INL_H_
#else
#define ATTEND_KERNELS_ATTENTION_LANE_STATE_INL_H_
#endif

#include <limits>

#include "kernels/attention/score_tile-inl.h"
#include "kernels/attention/scratch_pieces.h"
#include "kernels/attention/weights.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

// Rows that have no keys: maximum 0 and inverse 0, so that their weights are 0. Rows of NaN weights: NaN and
// NaN. Lanes without a query: 0 and 0.
struct LaneState {
  float* const max;
  float* const inverse;  // 1 / sum
  double* const sum;     // in float64, so that the weights of a row of any length add up to 1
  float* const part;
  bool any_nan = false;

  HWY_ATTR LaneState(std::int64_t width, ScratchPieces& scratch)
      : max(scratch.take<float>(width)),
        inverse(scratch.take<float>(width)),
        sum(scratch.take<double>(width)),
        part(scratch.take<float>(width)) {}
  static std::int64_t scratch_size(std::int64_t width) {
    return 3 * ScratchPieces::floats_for<float>(width) + ScratchPieces::floats_for<double>(width);
  }

  HWY_ATTR void read(const RowStateInput<float>& state, std::int64_t first, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      max[i] = state.max[(first + i) * state.max_stride];
      sum[i] = static_cast<double>(state.sum[(first + i) * state.sum_stride]);
    }
  }

  // One pass over the scores, the maximum and the sum following each other as in attention() itself.
  template <class Scores>
  HWY_ATTR void compute(Scores& scores) {
    const float sink = scores.head.sink;
    for (std::int64_t i = 0; i < scores.width; ++i) {
      max[i] = sink;
      sum[i] = sink == kMinusInfinity<float> ? 0 : 1;
    }
    const KeyRange keys = scores.keys();
    for (std::int64_t key = keys.begin; key < keys.end;) {
      const std::int64_t next = scores.next_tile(key, keys.end);
      scores.make(key, next - key);
      for (std::int64_t at = 0; at < scores.width; at += lanes()) {
        add_column(scores.s + at, next - key, scores.width, at);
      }
      key = next;
    }
  }

  // What the loops over scores want to see.
  HWY_ATTR void settle(std::int64_t count, std::int64_t width) {
    any_nan = false;
    for (std::int64_t i = 0; i < width; ++i) {
      const bool empty = i >= count || sum[i] == 0;
      const bool finite = max[i] - max[i] == 0 && sum[i] - sum[i] == 0;
      inverse[i] = empty ? 0.0f : static_cast<float>(1 / sum[i]);
      if (empty) max[i] = 0;
      if (!empty && !finite) {
        max[i] = inverse[i] = std::numeric_limits<float>::quiet_NaN();
        any_nan = true;
      }
    }
  }

 private:
  // The scores of one vector of queries, `keys` rows of them.
  HWY_ATTR void add_column(const float* column, std::int64_t keys, std::int64_t width, std::int64_t at) {
    const D d;
    const V before = hn::Load(d, max + at);
    Slot largest[4] = {before, before, before, before};
    std::int64_t j = 0;
    for (; j + 4 <= keys; j += 4) {
#pragma GCC unroll 4
      for (int u = 0; u < 4; ++u) largest[u] = hn::Max(largest[u], hn::Load(d, column + (j + u) * width));
    }
    for (; j < keys; ++j) largest[0] = hn::Max(largest[0], hn::Load(d, column + j * width));
    const V now = hn::Max(hn::Max(largest[0], largest[1]), hn::Max(largest[2], largest[3]));
    // A row that has seen no key yet keeps -inf and takes 0 for it, so that -inf - -inf never arises.
    const V base = hn::IfThenZeroElse(hn::Eq(now, hn::Set(d, kMinusInfinity<float>)), now);
    if (!hn::AllTrue(d, hn::Eq(now, before))) {
      hn::Store(exponential(hn::Sub(before, base)), d, part);
      for (std::int64_t l = 0; l < lanes(); ++l) sum[at + l] *= static_cast<double>(part[l]);
      hn::Store(now, d, max + at);
    }
    Slot total[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
    for (j = 0; j + 4 <= keys; j += 4) {
#pragma GCC unroll 4
      for (int u = 0; u < 4; ++u) {
        total[u] = hn::Add(total[u], exponential(hn::Sub(hn::Load(d, column + (j + u) * width), base)));
      }
    }
    // The same accumulator for key j wherever the tile ends: keys that a row does not see leave its bits
    // alone.
    for (int u = 0; j + u < keys; ++u) {
      total[u] = hn::Add(total[u], exponential(hn::Sub(hn::Load(d, column + (j + u) * width), base)));
    }
    hn::Store(hn::Add(hn::Add(total[0], total[1]), hn::Add(total[2], total[3])), d, part);
    for (std::int64_t l = 0; l < lanes(); ++l) sum[at + l] += static_cast<double>(part[l]);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#endif  // ATTEND_KERNELS_ATTENTION_LANE_STATE_INL_H_
