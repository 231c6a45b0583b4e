// What forward kernels share whose weights are rounded to bf16: exponentials in pairs of keys, their two
// sums, the output in fp32, and the way through the keys. Queries are in lanes.
#if defined(ATTEND_KERNELS_ATTENTION_ROUNDED_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_ATTENTION_ROUNDED_TILE_INL_H_
#undef ATTEND_KERNELS_ATTENTION_ROUNDED_TILE_INL_H_
#else
#define ATTEND_KERNELS_ATTENTION_ROUNDED_TILE_INL_H_
#endif

#include "kernels/attention/running_sums-inl.h"
#include "kernels/attention/score_tile-inl.h"
#include "kernels/attention/woven_tile-inl.h"
#include "kernels/simd/dropout-inl.h"

#if ATTEND_BF16_PAIRS
ATTEND_BEFORE_BF16();
namespace attend::kernels {
namespace HWY_NAMESPACE {

// Scores: a ScoreTile of some arithmetic. Values: a WovenTile.
template <int kV, class Scores, class Values>
struct RoundedTile {
  const Head<float>& head;
  Scores scores;
  static constexpr std::int64_t width = kV * kLanes;
  const bool drops = head.dropout.drops_any();
  const bool keeps_state;  // whether the sum before rounding is wanted
  float* const s = scores.s;
  float* const seen;      // (kKeyTile, width): scores, kept where values are not finite
  std::int32_t* const p;  // (kKeyTile / 2, width): exponentials in pairs of keys
  Values values;
  float* const o;           // (columns of values, width)
  std::int64_t filled = 0;  // rows of o that hold something: none before the first values
  RunningSums<kV> sums;
  Slot rounded_sum[kV], tile_rounded[kV];  // of what became of the exponentials in bf16

  // Memory that tiles which take turns may share, and what each needs for itself.
  static HWY_INLINE std::int64_t shared_size(std::int64_t dv) {
    return (kKeyTile + kKeyTile / 2) * width + Values::scratch_size(dv);
  }
  static HWY_INLINE std::int64_t own_size(std::int64_t dv) { return Values::columns_for(dv) * width; }

  RoundedTile(const Scores& made, const Head<float>& h, const Woven& v, bool wants_state, float* shared,
              float* own)
      : head(h),
        scores(made),
        keeps_state(wants_state),
        seen(shared),
        p(reinterpret_cast<std::int32_t*>(seen + kKeyTile * width)),
        values(v, h.dv, seen + (kKeyTile + kKeyTile / 2) * width),
        o(own) {}

  // Two keys of one vector of queries become a pair of weights, and join the sum of these.
  static HWY_INLINE void keep_pair(V first, V second, std::int32_t* to, Slot& rounded) {
    const Pairs pair = woven(first, second);
    hn::Store(pair, DI(), to);
    rounded = dot_pairs(rounded, pair, same_pair(0x3f803f80));
  }

  // Exponentials that were made before are in o by now: rounded, they could not be rescaled without another
  // rounding.
  HWY_NOINLINE void raise_base(int v, V largest) {
    const D d;
    const V change = sums.raise(v, largest);
    for (std::int64_t c = 0; c < filled; ++c) {
      float* const row = o + c * width + v * lanes();
      hn::Store(hn::Mul(hn::Load(d, row), change), d, row);
    }
    rounded_sum[v] = hn::Mul(rounded_sum[v], change);
    tile_rounded[v] = hn::Mul(tile_rounded[v], change);
  }

  // Weights of n keys once more, from their exponentials in row `at` of s and on: 0 where dropped.
  void drop(std::int64_t first_key, std::int64_t at, std::int64_t n) {
    const D d;
    drop_weights<kV>(head.dropout, scores.first, first_key, n, s + at * width);
    for (std::int64_t j = at; j < at + n; j += 2) {
      for (std::int64_t v = 0; v < width; v += lanes()) {
        const float* const x = s + j * width + v;
        const V second = j + 1 < at + n ? hn::Load(d, x + width) : hn::Zero(d);
        hn::Store(woven(hn::Load(d, x), second), DI(), p + j / 2 * width + v);
      }
    }
  }

  void begin() {
    sums.begin(head.sink);
    for (int v = 0; v < kV; ++v) rounded_sum[v] = sums.sum[v];
  }
  // Around the exponentials of some keys.
  HWY_INLINE void begin_sums() {
    sums.begin_tile();
    for (int v = 0; v < kV; ++v) tile_rounded[v] = hn::Zero(D());
  }
  HWY_INLINE void end_sums() {
    sums.end_tile();
    for (int v = 0; v < kV; ++v) rounded_sum[v] = hn::Add(rounded_sum[v], tile_rounded[v]);
  }

  void finish(const HeadOutput<float>& output) {
    if (filled == 0) std::fill_n(o, values.columns * width, 0.0f);
    float* const state_max = seen;  // no longer needed for scores
    float* const state_sum = seen + width;
    float* const inverses = seen + 2 * width;
    for (int v = 0; v < kV; ++v) {
      hn::Store(sums.inverse(head.kept, rounded_sum[v]), D(), inverses + v * lanes());
      if (keeps_state) sums.state(v, state_max, state_sum);
    }
    columns_to_rows(o, width, scores.count, head.dv, output.out, output.out_stride, inverses);
    if (!keeps_state) return;
    for (std::int64_t i = 0; i < scores.count; ++i) {
      output.set_state(i, state_max[i], state_sum[i]);
    }
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
ATTEND_AFTER_BF16();
#endif  // ATTEND_BF16_PAIRS

#endif  // ATTEND_KERNELS_ATTENTION_ROUNDED_TILE_INL_H_
