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

#include "kernels/attention/gradient_block-inl.h"
#include "kernels/attention/gradient_weights-inl.h"
#include "kernels/simd/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

template <int kV>
struct GradientTile {
  const BackwardHead& at;
  const Head<float>& head = at.head;
  ScoreTile<kV> scores;
  const std::int64_t first = scores.first, count = scores.count, width = scores.width;
  const std::int64_t q_width = whole_vectors(head.d), o_width = whole_vectors(head.dv);
  GradientWeights<kV> weights;
  float* const p = weights.p;
  float* const ds = weights.ds;
  float* const dq;         // (d, width)
  float* const o_columns;  // (dv, width): dO^T / sum
  float* const o_rows;     // (width, o_width): dO / sum
  float* const q_rows;     // (width, q_width): scale Q
  float* const seen;       // (kGradientKeys, width): scores, kept where something masked is not finite
  bool looked = false, finite = true;  // at q and d_out, where something is masked

  static HWY_INLINE std::int64_t scratch_size(std::int64_t d, std::int64_t dv) {
    const std::int64_t columns = kGradientKeys + d + dv + whole_vectors(d) + whole_vectors(dv);
    return ScoreTile<kV>::scratch_size(d) + GradientWeights<kV>::scratch_size() + columns * kV * lanes();
  }

  HWY_ATTR GradientTile(const BackwardHead& which, std::int64_t first_row, std::int64_t rows, float* scratch)
      : at(which),
        scores(which.head, first_row, rows, scratch),
        weights(which, first_row, rows, scores.s, scratch + ScoreTile<kV>::scratch_size(which.head.d)),
        dq(weights.ds + GradientWeights<kV>::scratch_size()),
        o_columns(dq + head.d * width),
        o_rows(o_columns + head.dv * width),
        q_rows(o_rows + width * o_width),
        seen(q_rows + width * q_width) {}

  HWY_ATTR void pack() {
    scores.pack_queries();
    const float* const inverse = at.rows.inverse + first;
    weights.read_rows();
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

  // Keys [begin, end) of those at hand, which no query of the first kV - kSeeing vectors sees.
  template <int kSeeing>
  HWY_ATTR void make_d_weights(std::int64_t first_key, std::int64_t begin, std::int64_t end) {
    const std::int64_t lane = (kV - kSeeing) * lanes();
    product_from<kSeeing>(end - begin, head.dv, head.value(first_key + begin), head.v_stride,
                          o_columns + lane, weights.start + lane, ds + begin * width + lane, width);
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
    if (head.softcap != 0) {
      scores.make(first_key, n, Stage::capped);
      weights.make_slope(n);
    }
    const bool masked = scores.make(first_key, n);
    scores.template for_each_sight<kV>(first_key, 0, n,
                                       [&]<int kSeeing>(std::int64_t begin, std::int64_t end)
                                           HWY_ATTR { make_d_weights<kSeeing>(first_key, begin, end); });
    const bool guarded =
        masked && !(queries_finite() && all_finite(head.key(first_key), head.k_stride, n, head.d));
    if (guarded) std::copy(p, p + n * width, seen);
    weights.make(first_key, n, masked);
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
