// One pass over the scores of a head serves every summary that was asked for. For a tile of queries and a
// tile of keys, queries in vector lanes:
//
//   S^T = K Q^T                        score_tile-inl.h
//   the largest scores of each lane    top_keys-inl.h: scores are in the order of their weights
//   W^T = exp(S^T - max) / sum         the row state was kept, or is computed first: lane_state-inl.h
//   sums over lanes, cells of a map    received-inl.h, map_tile-inl.h
//
// Whatever adds up over queries is added tile after tile, so its bits depend on the cut of the queries only.
#include <cmath>

#include "kernels/attention/weights.h"

#include "kernels/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/summarize_fused.cpp"
#include <hwy/foreach_target.h>

#include "kernels/attention/amx_scores-inl.h"
#include "kernels/attention/lane_state-inl.h"
#include "kernels/attention/map_tile-inl.h"
#include "kernels/attention/pair_scores-inl.h"
#include "kernels/attention/received-inl.h"
#include "kernels/attention/score_tile-inl.h"
#include "kernels/attention/top_keys-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

// Scores: ScoreTile<kV>, PairScores<kV> or AmxScores<kV>. Top: TopList or TopGathered.
template <int kV, class Scores, class Top>
struct SummaryTile {
  const Head<float>& head;
  const SummaryTarget<float>& target;
  const std::int64_t first, count;
  ScratchPieces scratch;
  Scores scores;
  const std::int64_t width = scores.width;
  LaneState state;
  MapTile<kV> map;
  // Of each lane: sum of p and of p (score - max), with p = exp(score - max).
  double* const mass;
  double* const moment;
  const std::int64_t keep;
  Top top;

  static std::int64_t scratch_size(std::int64_t d, std::int64_t keep) {
    const std::int64_t width = kV * lanes();
    return ScratchPieces::floats_for<float>(Scores::scratch_size(d)) + LaneState::scratch_size(width) +
           MapTile<kV>::scratch_size() + 2 * ScratchPieces::floats_for<double>(width) +
           Top::scratch_size(keep);
  }

  template <class AnyHead>
  HWY_ATTR SummaryTile(const AnyHead& h, const SummaryTarget<float>& t, std::int64_t first_row,
                       std::int64_t rows, float* memory)
      : head(options_of(h)),
        target(t),
        first(first_row),
        count(rows),
        scratch(memory),
        scores(h, first_row, rows, scratch.take<float>(Scores::scratch_size(head.d))),
        state(width, scratch),
        map(t, scratch),
        mass(scratch.take<double>(width)),
        moment(scratch.take<double>(width)),
        keep(std::min(t.top_k, head.keys)),
        top(keep, scratch) {}

  HWY_ATTR void run(const RowStateInput<float>& given) {
    const KeyRange keys = scores.keys();
    if (keys.begin < keys.end) scores.pack_queries();
    if (given.max != nullptr) {
      state.read(given, first, count);
    } else {
      state.compute(scores);
    }
    state.settle(count, width);
    if (keep > 0) top.begin(count);
    if (target.map != nullptr) map.begin(first, count);
    for (std::int64_t i = 0; i < width; ++i) mass[i] = moment[i] = 0;

    const bool wants_weights =
        target.received != nullptr || target.map != nullptr || target.entropy != nullptr;
    for (std::int64_t key = keys.begin; key < keys.end;) {
      const std::int64_t next = scores.next_tile(key, keys.end);
      const std::int64_t n = next - key;
      scores.make(key, n);
      if (keep > 0) top.look(scores.s, n, key);
      if (wants_weights) weights(n);
      if (target.received != nullptr) add_received<kV>(scores.s, n, target.received + key);
      if (target.map != nullptr) map.add(scores.s, n, key);
      key = next;
    }
    for (std::int64_t i = 0; i < count; ++i) finish_row(i);
  }

 private:
  // Scores to weights, in place.
  HWY_ATTR void weights(std::int64_t n) {
    // A lane without a query may hold anything, and a row of NaN weights still has weight 0 where a key takes
    // no part. Neither is usual.
    const bool guarded = count < width || state.any_nan;
    if (target.entropy != nullptr) return guarded ? weights<true, true>(n) : weights<true, false>(n);
    return guarded ? weights<false, true>(n) : weights<false, false>(n);
  }

  template <bool kEntropy, bool kGuarded>
  HWY_ATTR void weights(std::int64_t n) {
    const D d;
    Slot max[kV], inverse[kV], p_sum[kV], pt_sum[kV];
    MaskSlot has_query[kV];
#pragma GCC unroll 3
    for (int v = 0; v < kV; ++v) {
      max[v] = hn::Load(d, state.max + v * lanes());
      inverse[v] = hn::Load(d, state.inverse + v * lanes());
      p_sum[v] = pt_sum[v] = hn::Zero(d);
      const std::int64_t rest = std::clamp<std::int64_t>(count - v * lanes(), 0, lanes());
      has_query[v] = hn::FirstN(d, static_cast<std::size_t>(rest));
    }
    for (std::int64_t j = 0; j < n; ++j) {
      float* const row = scores.s + j * width;
#pragma GCC unroll 3
      for (int v = 0; v < kV; ++v) {
        const V x = hn::Load(d, row + v * lanes());
        const V t = hn::Sub(x, max[v]);
        V p = exponential(t);
        if constexpr (kGuarded) {
          // By Eq: whether NaN is Ne depends on the instruction set.
          const auto masked = hn::Eq(x, hn::Set(d, kMinusInfinity<float>));
          const auto counts = hn::AndNot(masked, has_query[v]);
          p = hn::IfThenElseZero(counts, p);
          hn::Store(hn::IfThenElseZero(counts, hn::Mul(p, inverse[v])), d, row + v * lanes());
        } else {
          hn::Store(hn::Mul(p, inverse[v]), d, row + v * lanes());
        }
        if constexpr (kEntropy) {
          // Below -88 p is 0, and 0 times -inf would be NaN.
          p_sum[v] = hn::Add(p_sum[v], p);
          pt_sum[v] = hn::MulAdd(p, at_least(hn::Set(d, -100.0f), t), pt_sum[v]);
        }
      }
    }
    if constexpr (kEntropy) {
      for (int v = 0; v < kV; ++v) {
        add_lanes(p_sum[v], mass + v * lanes());
        add_lanes(pt_sum[v], moment + v * lanes());
      }
    }
  }

  HWY_ATTR void add_lanes(V x, double* sums) {
    float* const part = state.part;
    hn::Store(x, D(), part);
    for (std::int64_t l = 0; l < lanes(); ++l) sums[l] += static_cast<double>(part[l]);
  }

  HWY_ATTR void finish_row(std::int64_t i) {
    const float max = state.max[i], inverse = state.inverse[i];
    if (target.entropy != nullptr) {
      // w = p / l and ln w = t - ln l, so -sum w ln w = (ln l sum p - sum p t) / l. Shifted scores t are
      // small where it matters, however large the scores are.
      const double l = state.sum[i];
      const double nats = inverse == 0 ? 0 : (std::log(l) * mass[i] - moment[i]) / l;
      target.entropy[(first + i) * target.entropy_stride] =
          inverse == inverse ? static_cast<float>(nats) : inverse;
    }
    if (target.top_k == 0) return;
    std::int64_t* const keys = target.top_keys + (first + i) * target.top_stride;
    float* const weights = target.top_weights + (first + i) * target.top_stride;
    std::fill(keys, keys + target.top_k, -1);
    std::fill(weights, weights + target.top_k, inverse == inverse ? 0.0f : inverse);
    if (keep == 0 || inverse != inverse) return;
    top.take(i, keep, keys, weights);
    weights_of(weights, max, inverse);
  }

  // The scores of `keep` keys of one row become weights; where there is no key, exp(-inf) is 0.
  HWY_ATTR void weights_of(float* row, float max, float inverse) {
    const D d;
    HWY_ALIGN float part[kLaneCount];
    for (std::int64_t i = 0; i < keep; i += lanes()) {
      const std::int64_t here = std::min(keep - i, lanes());
      std::fill(part, part + kLaneCount, max);
      std::copy(row + i, row + i + here, part);
      const V p = exponential(hn::Sub(hn::Load(d, part), hn::Set(d, max)));
      hn::Store(hn::Mul(p, hn::Set(d, inverse)), d, part);
      std::copy(part, part + here, row + i);
    }
  }
};

template <int kV, template <int> class Scores, template <int> class Top, class AnyHead>
HWY_ATTR void run_tile(const AnyHead& head, const RowStateInput<float>& state, std::int64_t first,
                       std::int64_t rows, const SummaryTarget<float>& target, float* scratch) {
  if constexpr (kV > 1) {
    if (rows <= (kV - 1) * lanes())
      return run_tile<kV - 1, Scores, Top>(head, state, first, rows, target, scratch);
  }
  SummaryTile<kV, Scores<kV>, Top<kV>>(head, target, first, rows, scratch).run(state);
}

template <int kV, template <int> class Scores, class AnyHead>
HWY_ATTR void summarize(const AnyHead& head, const RowStateInput<float>& state, std::int64_t first,
                        std::int64_t last, const SummaryTarget<float>& target, float* scratch) {
  for (std::int64_t row = first; row < last; row += kV * lanes()) {
    const std::int64_t rows = std::min(kV * lanes(), last - row);
    if (std::min(target.top_k, options_of(head).keys) <= kLongestTopList) {
      run_tile<kV, Scores, TopList>(head, state, row, rows, target, scratch);
    } else {
      run_tile<kV, Scores, TopGathered>(head, state, row, rows, target, scratch);
    }
  }
}
template <int kV, template <int> class Scores>
HWY_ATTR std::int64_t scratch_to_summarize(std::int64_t d, std::int64_t keep) {
  return keep <= kLongestTopList ? SummaryTile<kV, Scores<kV>, TopList<kV>>::scratch_size(d, keep)
                                 : SummaryTile<kV, Scores<kV>, TopGathered<kV>>::scratch_size(d, keep);
}

HWY_ATTR void run_summary(const Head<float>& head, const RowStateInput<float>& state, std::int64_t first,
                          std::int64_t last, const SummaryTarget<float>& target, float* scratch) {
  summarize<kVectors, ScoreTile>(head, state, first, last, target, scratch);
}
#if ATTEND_BF16_PAIRS
HWY_ATTR void run_summary_of_pairs(const HeadBf16& head, const RowStateInput<float>& state,
                                   std::int64_t first, std::int64_t last, const SummaryTarget<float>& target,
                                   float* scratch) {
  summarize<kVectors, PairScores>(head, state, first, last, target, scratch);
}
#endif

HWY_ATTR std::int64_t summary_queries() { return tile_queries(); }

HWY_ATTR std::int64_t summary_scratch(std::int64_t d, std::int64_t keep) {
  return scratch_to_summarize<kVectors, ScoreTile>(d, keep);
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#if ATTEND_AMX
ATTEND_BEFORE_AMX();
namespace attend::kernels {
namespace HWY_NAMESPACE {

void run_summary_of_tiles(const HeadBf16& head, const RowStateInput<float>& state, std::int64_t first,
                          std::int64_t last, const SummaryTarget<float>& target, float* scratch) {
  const TileScope tiles;
  summarize<kAmxVectors, AmxScores>(head, state, first, last, target, scratch);
}
std::int64_t summary_scratch_of_tiles(std::int64_t d, std::int64_t keep) {
  return scratch_to_summarize<kAmxVectors, AmxScores>(d, keep);
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
ATTEND_AFTER_AMX();
#endif  // ATTEND_AMX

#if HWY_ONCE
namespace attend::kernels {
namespace {

HWY_EXPORT(run_summary);
HWY_EXPORT(summary_queries);
HWY_EXPORT(summary_scratch);

}  // namespace

void summarize_fused(const Head<float>& head, const RowStateInput<float>& state, std::int64_t first,
                     std::int64_t last, const SummaryTarget<float>& target, float* scratch) noexcept {
  HWY_DYNAMIC_DISPATCH(run_summary)(head, state, first, last, target, scratch);
}

void summarize_fused([[maybe_unused]] const HeadBf16& head,
                     [[maybe_unused]] const RowStateInput<float>& state, [[maybe_unused]] std::int64_t first,
                     [[maybe_unused]] std::int64_t last, [[maybe_unused]] const SummaryTarget<float>& target,
                     [[maybe_unused]] float* scratch) noexcept {
#if ATTEND_AMX_TARGETS
  if (has_extension(Extension::amx))
    return bf16_set::run_summary_of_tiles(head, state, first, last, target, scratch);
#endif
#if HWY_TARGETS & ATTEND_BF16_TARGETS
  bf16_set::run_summary_of_pairs(head, state, first, last, target, scratch);
#endif
}

std::int64_t summary_tile_queries() noexcept { return HWY_DYNAMIC_DISPATCH(summary_queries)(); }

std::int64_t scratch_size_summary(std::int64_t d, std::int64_t keep) noexcept {
  std::int64_t size = HWY_DYNAMIC_DISPATCH(summary_scratch)(d, keep);
#if ATTEND_AMX_TARGETS
  if (has_extension(Extension::amx)) size = std::max(size, bf16_set::summary_scratch_of_tiles(d, keep));
#endif
  return size;
}

}  // namespace attend::kernels
#endif
