// Scores and dP^T of a tile become P^T and dS^T: what every arithmetic of gradients shares. Queries are in
// lanes; the numbers are of fp32.
#if defined(ATTEND_KERNELS_ATTENTION_GRADIENT_WEIGHTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_ATTENTION_GRADIENT_WEIGHTS_INL_H_
#undef ATTEND_KERNELS_ATTENTION_GRADIENT_WEIGHTS_INL_H_
#else
#define ATTEND_KERNELS_ATTENTION_GRADIENT_WEIGHTS_INL_H_
#endif

#include "kernels/attention/attention_backward.h"
#include "kernels/attention/biased_sums-inl.h"
#include "kernels/attention/score_tile-inl.h"
#include "kernels/simd/dropout-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

// Keys of a tile, counted from the sequence's first. 64 and 96 were 2 to 5 points slower.
constexpr std::int64_t kGradientKeys = 128;
static_assert(kGradientKeys <= kKeyTile);

template <int kV>
struct GradientWeights {
  const BackwardHead& at;
  const Head<float>& head = at.head;
  const std::int64_t first, count;
  const std::int64_t width = kV * lanes();
  float* const p;      // (kGradientKeys, width): scores, then P^T
  float* const ds;     // (kGradientKeys, width): dP^T / sum, from `start` on, then dS^T
  float* const slope;  // (kGradientKeys, width): of the soft cap
  float* const base;   // (width)
  float* const shift;  // (width): -delta / sum
  float* const start;  // (width): what dP^T starts from: shift, or 0 where dropout comes between

  static HWY_INLINE std::int64_t scratch_size() { return (2 * kGradientKeys + 3) * kV * lanes(); }

  // scratch: scratch_size() floats, aligned to a vector. scores: where those of the tile are.
  HWY_ATTR GradientWeights(const BackwardHead& which, std::int64_t first_row, std::int64_t rows,
                           float* scores, float* scratch)
      : at(which),
        first(first_row),
        count(rows),
        p(scores),
        ds(scratch),
        slope(ds + kGradientKeys * width),
        base(slope + kGradientKeys * width),
        shift(base + width),
        start(shift + width) {}

  HWY_ATTR void read_rows() {
    for (std::int64_t i = 0; i < width; ++i) {
      const bool real = i < count;
      base[i] = real ? at.rows.base[first + i] : 0;
      shift[i] = real ? -at.rows.delta[first + i] * at.rows.inverse[first + i] : 0;
      start[i] = head.dropout.drops_any() ? 0 : shift[i];
    }
  }

  // 1 - tanh^2, from the capped scores in p.
  HWY_ATTR void make_slope(std::int64_t n) {
    const D d;
    const V inverse = hn::Set(d, 1 / head.softcap), one = hn::Set(d, 1.0f);
    for (std::int64_t x = 0; x < n * width; x += lanes()) {
      const V tanh = hn::Mul(hn::Load(d, p + x), inverse);
      hn::Store(hn::NegMulAdd(tanh, tanh, one), d, slope + x);
    }
  }

  // What dropout, masks and the soft cap make of a tile of n keys, and the gradients that are sums of dS^T.
  HWY_ATTR void make(std::int64_t first_key, std::int64_t n, bool masked) {
    if (head.dropout.drops_any()) {
      masked ? weigh_dropped<true>(first_key, n) : weigh_dropped<false>(first_key, n);
    } else {
      masked ? weigh<true>(n) : weigh<false>(n);
    }
    add_biased_sums<kV>(at, first, count, first_key, n, ds);
    if (head.softcap != 0) apply_slope(n);
  }

 private:
  // P^T and dS^T from scores and dP^T, in place. A score of -inf in a masked tile is a key that takes no
  // part: both are then 0, whatever dP^T holds.
  template <bool kMasked>
  HWY_ATTR void weigh(std::int64_t n) {
    const D d;
    const V minus_infinity = hn::Set(d, kMinusInfinity<float>);
    Slot from[kV];
    for (int v = 0; v < kV; ++v) from[v] = hn::Load(d, base + v * lanes());
    for (std::int64_t j = 0; j < n; ++j) {
#pragma GCC unroll 3
      for (int v = 0; v < kV; ++v) {
        const std::int64_t x = j * width + v * lanes();
        const V score = hn::Load(d, p + x);
        V weight = exponential(hn::Sub(score, from[v]));
        V change = hn::Mul(weight, hn::Load(d, ds + x));
        if constexpr (kMasked) {
          const auto none = hn::Eq(score, minus_infinity);
          weight = hn::IfThenZeroElse(none, weight);
          change = hn::IfThenZeroElse(none, change);
        }
        hn::Store(weight, d, p + x);
        hn::Store(change, d, ds + x);
      }
    }
  }

  // With dropout: P^T is what reaches the values, and dP^T only comes from there. dS^T does not know of it.
  template <bool kMasked>
  HWY_ATTR void weigh_dropped(std::int64_t first_key, std::int64_t n) {
    const D d;
    const DropoutLanes dropout(head.dropout);
    const V minus_infinity = hn::Set(d, kMinusInfinity<float>);
    for (int v = 0; v < kV; ++v) {
      const V from = hn::Load(d, base + v * lanes()), less = hn::Load(d, shift + v * lanes());
      const auto rows = dropout.rows(first + v * lanes());
      for (std::int64_t j = 0; j < n; ++j) {
        const std::int64_t x = j * width + v * lanes();
        const auto gone = dropout.drops(rows, first_key + j);
        const V score = hn::Load(d, p + x);
        V weight = exponential(hn::Sub(score, from));
        V change = hn::Mul(weight, hn::Add(hn::IfThenZeroElse(gone, hn::Load(d, ds + x)), less));
        if constexpr (kMasked) {
          const auto none = hn::Eq(score, minus_infinity);
          weight = hn::IfThenZeroElse(none, weight);
          change = hn::IfThenZeroElse(none, change);
        }
        hn::Store(hn::IfThenZeroElse(gone, weight), d, p + x);
        hn::Store(change, d, ds + x);
      }
    }
  }

  HWY_ATTR void apply_slope(std::int64_t n) {
    const D d;
    for (std::int64_t x = 0; x < n * width; x += lanes()) {
      hn::Store(hn::Mul(hn::Load(d, ds + x), hn::Load(d, slope + x)), d, ds + x);
    }
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#endif  // ATTEND_KERNELS_ATTENTION_GRADIENT_WEIGHTS_INL_H_
