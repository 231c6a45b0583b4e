// The gradients of a tile of queries, against one tile of keys after another. Queries are in lanes, as in
// score_tile-inl.h, whose scores it starts from. With 1 / sum folded into d_out where it is packed:
//
//   P^T  = exp(S^T - max)                     (keys, queries)
//   dP^T = V dO^T - delta                     (keys, queries)  the accumulators start at -delta
//   dS^T = P^T o dP^T
//   dV  += P^T dO     dK += dS^T Q            (keys, columns)  rows of dO and Q are packed, too
//   dQ^T += K^T dS^T                          (d, queries)
#if defined(ATTEND_KERNELS_ATTENTION_GRADIENT_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_ATTENTION_GRADIENT_TILE_INL_H_
#undef ATTEND_KERNELS_ATTENTION_GRADIENT_TILE_INL_H_
#else
#define ATTEND_KERNELS_ATTENTION_GRADIENT_TILE_INL_H_
#endif

#include "kernels/attention/attention_backward.h"
#include "kernels/attention/biased_sums-inl.h"
#include "kernels/attention/score_tile-inl.h"
#include "kernels/simd/dropout-inl.h"
#include "kernels/simd/outer_product-inl.h"
#include "kernels/simd/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

// The gradients of a block of keys while it is worked on: rows are whole vectors.
struct KeyBlock {
  KeyRange keys;
  float* k = nullptr;  // (keys, whole_vectors(d)); null where not wanted
  float* v = nullptr;  // (keys, whole_vectors(dv))
  std::int64_t k_stride = 0, v_stride = 0;
};

// Keys of a tile, counted from the sequence's first. 64 and 96 were 2 to 5 points slower.
constexpr std::int64_t kGradientKeys = 128;
static_assert(kGradientKeys <= kKeyTile);

template <int kV>
struct GradientTile {
  const BackwardHead& at;
  const Head<float>& head = at.head;
  ScoreTile<kV> scores;
  const std::int64_t first = scores.first, count = scores.count, width = scores.width;
  const std::int64_t q_width = whole_vectors(head.d), o_width = whole_vectors(head.dv);
  float* const p = scores.s;  // (keys, width): scores, then P^T
  float* const ds;            // (kGradientKeys, width): dP^T, then dS^T
  float* const dq;            // (d, width)
  float* const o_columns;     // (dv, width): dO^T / sum
  float* const o_rows;        // (width, o_width): dO / sum
  float* const q_rows;        // (width, q_width): scale Q
  float* const base;          // (width)
  float* const shift;         // (width): -delta / sum
  float* const start;         // (width): what dP^T starts from: shift, or 0 where dropout comes between
  float* const seen;          // (kGradientKeys, width): scores, kept where something masked is not finite
  float* const slope;         // (kGradientKeys, width): of the soft cap
  bool looked = false, finite = true;  // at q and d_out, where something is masked

  static HWY_INLINE std::int64_t scratch_size(std::int64_t d, std::int64_t dv) {
    const std::int64_t columns = 3 * kGradientKeys + d + dv + whole_vectors(d) + whole_vectors(dv) + 3;
    return ScoreTile<kV>::scratch_size(d) + columns * kV * lanes();
  }

  HWY_ATTR GradientTile(const BackwardHead& which, std::int64_t first_row, std::int64_t rows, float* scratch)
      : at(which),
        scores(which.head, first_row, rows, scratch),
        ds(scratch + ScoreTile<kV>::scratch_size(which.head.d)),
        dq(ds + kGradientKeys * width),
        o_columns(dq + head.d * width),
        o_rows(o_columns + head.dv * width),
        q_rows(o_rows + width * o_width),
        base(q_rows + width * q_width),
        shift(base + width),
        start(shift + width),
        seen(start + width),
        slope(seen + kGradientKeys * width) {}

  HWY_ATTR void pack() {
    scores.pack_queries();
    const float* const inverse = at.rows.inverse + first;
    for (std::int64_t i = 0; i < width; ++i) {
      const bool real = i < count;
      base[i] = real ? at.rows.base[first + i] : 0;
      shift[i] = real ? -at.rows.delta[first + i] * inverse[i] : 0;
      start[i] = head.dropout.drops_any() ? 0 : shift[i];
    }
    for (std::int64_t i = 0; i < count; ++i) {
      const float* const row = at.d_out + (first + i) * at.d_out_stride;
      copy_row(row, head.dv, inverse[i] * head.kept, o_rows + i * o_width);
      copy_row(head.query(first + i), head.d, head.scale, q_rows + i * q_width);
    }
    rows_to_columns(o_rows, o_width, count, head.dv, 1, o_columns, width);
    for (std::int64_t c = 0; c < head.dv && count < width; ++c) {
      std::fill(o_columns + c * width + count, o_columns + (c + 1) * width, 0.0f);
    }
    std::fill(dq, dq + head.d * width, 0.0f);
  }

  // 1 - tanh^2, from the capped scores.
  HWY_ATTR void make_slope(std::int64_t first_key, std::int64_t n) {
    const D d;
    scores.make(first_key, n, Stage::capped);
    const V inverse = hn::Set(d, 1 / head.softcap), one = hn::Set(d, 1.0f);
    for (std::int64_t x = 0; x < n * width; x += lanes()) {
      const V tanh = hn::Mul(hn::Load(d, p + x), inverse);
      hn::Store(hn::NegMulAdd(tanh, tanh, one), d, slope + x);
    }
  }

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

  // Keys [begin, end) of those at hand, which no query of the first kV - kSeeing vectors sees.
  template <int kSeeing>
  HWY_ATTR void make_d_weights(std::int64_t first_key, std::int64_t begin, std::int64_t end) {
    const std::int64_t lane = (kV - kSeeing) * lanes();
    product_from<kSeeing>(end - begin, head.dv, head.value(first_key + begin), head.v_stride,
                          o_columns + lane, start + lane, ds + begin * width + lane, width);
  }
  template <int kSeeing>
  HWY_ATTR void add_products(std::int64_t first_key, std::int64_t begin, std::int64_t end,
                             const KeyBlock& block) {
    const std::int64_t lane = (kV - kSeeing) * lanes(), n = end - begin;
    const std::int64_t row = first_key + begin - block.keys.begin;
    if (block.v != nullptr) {
      add_outer_product(n, count - lane, p + begin * width + lane, width, o_rows + lane * o_width,
                        block.v + row * block.v_stride, block.v_stride, o_width);
    }
    if (block.k != nullptr) {
      add_outer_product(n, count - lane, ds + begin * width + lane, width, q_rows + lane * q_width,
                        block.k + row * block.k_stride, block.k_stride, q_width);
    }
    if (at.q != nullptr) {
      product<kSeeing, true>(head.d, n, head.key(first_key + begin), 1, head.k_stride,
                             ds + begin * width + lane, dq + lane, width);
    }
  }

  // The same sums in the same order, leaving out what takes no part: 0 x NaN is NaN.
  HWY_ATTR void add_products_guarded(std::int64_t first_key, std::int64_t n, const KeyBlock& block) {
    const D d;
    const V minus_infinity = hn::Set(d, kMinusInfinity<float>);
    const std::int64_t row = first_key - block.keys.begin;
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < count; ++i) {
        if (seen[j * width + i] == kMinusInfinity<float>) continue;
        const std::int64_t x = j * width + i;
        if (block.v != nullptr)
          add_scaled_row(p[x], o_rows + i * o_width, o_width, block.v + (row + j) * block.v_stride);
        if (block.k != nullptr)
          add_scaled_row(ds[x], q_rows + i * q_width, q_width, block.k + (row + j) * block.k_stride);
      }
    }
    if (at.q == nullptr) return;
    for (std::int64_t c = 0; c < head.d; ++c) {
      for (std::int64_t lane = 0; lane < width; lane += lanes()) {
        V total = hn::Load(d, dq + c * width + lane);
        for (std::int64_t j = 0; j < n; ++j) {
          const V score = hn::Load(d, seen + j * width + lane);
          const V change = hn::Load(d, ds + j * width + lane);
          const V added = hn::MulAdd(hn::Set(d, head.key(first_key + j)[c]), change, total);
          total = hn::IfThenElse(hn::Eq(score, minus_infinity), total, added);
        }
        hn::Store(total, d, dq + c * width + lane);
      }
    }
  }

  HWY_ATTR bool queries_finite() {
    if (!looked) {
      finite = all_finite(o_rows, o_width, count, o_width) && all_finite(q_rows, q_width, count, q_width);
      looked = true;
    }
    return finite;
  }

  HWY_ATTR void key_tile(std::int64_t first_key, std::int64_t n, const KeyBlock& block) {
    if (head.softcap != 0) make_slope(first_key, n);
    const bool masked = scores.make(first_key, n);
    scores.template for_each_sight<kV>(first_key, 0, n,
                                       [&]<int kSeeing>(std::int64_t begin, std::int64_t end)
                                           HWY_ATTR { make_d_weights<kSeeing>(first_key, begin, end); });
    const bool guarded =
        masked && !(queries_finite() && all_finite(head.key(first_key), head.k_stride, n, head.d));
    if (guarded) std::copy(p, p + n * width, seen);
    if (head.dropout.drops_any()) {
      masked ? weigh_dropped<true>(first_key, n) : weigh_dropped<false>(first_key, n);
    } else {
      masked ? weigh<true>(n) : weigh<false>(n);
    }
    add_biased_sums<kV>(at, first, count, first_key, n, ds);
    if (head.softcap != 0) apply_slope(n);
    if (guarded) {
      add_products_guarded(first_key, n, block);
    } else {
      scores.template for_each_sight<kV>(first_key, 0, n,
                                         [&]<int kSeeing>(std::int64_t begin, std::int64_t end) HWY_ATTR {
                                           add_products<kSeeing>(first_key, begin, end, block);
                                         });
    }
  }

  HWY_ATTR void run(const KeyBlock& block) {
    const KeyRange visible = scores.keys();
    const KeyRange keys{std::max(visible.begin, block.keys.begin), std::min(visible.end, block.keys.end)};
    if (keys.begin >= keys.end) return;
    pack();
    for (std::int64_t key = keys.begin; key < keys.end;) {
      const std::int64_t next = std::min((key / kGradientKeys + 1) * kGradientKeys, keys.end);
      key_tile(key, next - key, block);
      key = next;
    }
    if (at.q != nullptr) {
      const D d;
      const V scale = hn::Set(d, head.scale);
      for (std::int64_t x = 0; x < head.d * width; x += lanes()) {
        hn::Store(hn::Mul(scale, hn::Load(d, dq + x)), d, dq + x);
      }
      add_columns_to_rows(dq, width, count, head.d, at.q + first * at.q_stride, at.q_stride);
    }
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#endif  // ATTEND_KERNELS_ATTENTION_GRADIENT_TILE_INL_H_
