// The gradients of a tile of queries as gradient_tile-inl.h makes them, from products of bf16 numbers.
// Queries are in lanes; weights and their changes are made in fp32 and rounded once, where they become
// factors:
//
//   P^T  = exp(S^T - max)               S^T with the bits that forward had
//   dP^T = (V dO^T - delta) / sum       pairs along the columns of V and dO
//   dS^T = P^T o dP^T
//   dV  += (P^T / sum) dO               pairs of queries: two lanes of a row of P^T lie side by side, rows of
//   dK  += (scale dS^T) Q               dO and Q are woven once a tile
//   dQ^T += K^T (scale dS^T)            pairs of keys: K is woven once for all tiles
#if defined(ATTEND_KERNELS_ATTENTION_GRADIENT_PAIRS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_ATTENTION_GRADIENT_PAIRS_INL_H_
#undef ATTEND_KERNELS_ATTENTION_GRADIENT_PAIRS_INL_H_
#else
#define ATTEND_KERNELS_ATTENTION_GRADIENT_PAIRS_INL_H_
#endif

#include "kernels/attention/attention_backward_bf16.h"
#include "kernels/attention/gradient_block-inl.h"
#include "kernels/attention/gradient_weights-inl.h"
#include "kernels/attention/pair_scores-inl.h"
#include "kernels/attention/scratch_pieces.h"
#include "kernels/attention/woven_tile-inl.h"

#if ATTEND_BF16_PAIRS
ATTEND_BEFORE_BF16();
namespace attend::kernels {
namespace HWY_NAMESPACE {

// Two vectors rounded to bf16: to rows of numbers that are `width` apart, and woven.
HWY_INLINE Pairs store_rounded(V first, V second, std::uint16_t* rows, std::int64_t width) {
  const auto both = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(second.raw, first.raw));
  _mm256_store_si256(reinterpret_cast<__m256i*>(rows), _mm512_castsi512_si256(both));
  _mm256_store_si256(reinterpret_cast<__m256i*>(rows + width), _mm512_extracti64x4_epi64(both, 1));
  return woven_halves(both);
}

// Rows of a tile of queries as factors of a product over queries, and those of their elements that are not
// finite: these are left out of it, and added where their query sees the key.
struct QueryRows {
  const std::uint16_t* const rows;
  const std::int64_t stride, count, n, width = whole_vectors(n);
  std::int32_t* const pairs;  // (count / 2 rounded up, width)
  bool finite = true;

  QueryRows(const std::uint16_t* from, std::int64_t apart, std::int64_t number, std::int64_t columns,
            std::int32_t* memory)
      : rows(from), stride(apart), count(number), n(columns), pairs(memory) {}

  void weave() {
    finite = weave_rows(rows, stride, count, n, pairs, width);
    if (finite) return;
    auto* const numbers = reinterpret_cast<std::uint16_t*>(pairs);
    for (std::int64_t x = 0; x < (count + 1) / 2 * 2 * width; ++x) {
      if (!finite_bits(numbers[x])) numbers[x] = 0;
    }
  }

  // sums (keys, width) += factors (keys, f_width) of queries [lane, count) times their rows.
  void multiply(std::int64_t keys, std::int64_t lane, const std::uint16_t* factors, std::int64_t f_width,
                float* sums, std::int64_t sums_stride) const {
    add_outer_product_of_pairs(keys, (count - lane + 1) / 2, factors + lane, f_width,
                               pairs + lane / 2 * width, sums, sums_stride, width);
  }

  // What weave() left out. seen: scores, -inf where a key takes no part; null: all do.
  HWY_NOINLINE void add_not_finite(std::int64_t keys, const std::uint16_t* factors, std::int64_t f_width,
                                   const float* seen, float* sums, std::int64_t sums_stride) const {
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::int64_t c = 0; c < n; ++c) {
        const std::uint16_t bits = rows[i * stride + c];
        if (finite_bits(bits)) continue;
        for (std::int64_t j = 0; j < keys; ++j) {
          if (seen != nullptr && seen[j * f_width + i] == kMinusInfinity<float>) continue;
          sums[j * sums_stride + c] +=
              to_float(bfloat16{factors[j * f_width + i]}) * to_float(bfloat16{bits});
        }
      }
    }
  }
};

template <int kV>
struct GradientPairs {
  const BackwardHead& at;
  const BackwardOperands& in;
  const Head<float>& head = at.head;
  ScratchPieces scratch;
  PairScores<kV> scores;
  const std::int64_t first = scores.first, count = scores.count, width = scores.width;
  const std::int64_t dv_pairs = (head.dv + 1) / 2;
  GradientWeights<kV> weights;
  float* const p = weights.p;
  float* const ds = weights.ds;
  float* const dq;                // (d, width)
  float* const factor;            // (width): 1 / sum, and what dropout multiplies with
  float* const seen;              // (kGradientKeys, width): scores, kept where something is not finite
  std::int32_t* const o_columns;  // (dv_pairs, width)
  std::uint16_t* const p_rows;    // (kGradientKeys, width): P^T / sum
  std::uint16_t* const ds_rows;   // (kGradientKeys, width): scale dS^T
  std::int32_t* const ds_pairs;   // (kGradientKeys / 2, width): the same in pairs of keys
  QueryRows o_rows, q_rows;
  WovenTile<kV> keys;

  static std::int64_t scratch_size(std::int64_t d, std::int64_t dv) {
    const std::int64_t width = kV * lanes();
    const auto floats = ScratchPieces::floats_for<float>;
    return floats(PairScores<kV>::scratch_size(d)) + floats(GradientWeights<kV>::scratch_size()) +
           floats((d + 1 + kGradientKeys) * width) + floats((dv + 1) / 2 * width) +
           3 * floats(kGradientKeys / 2 * width) + floats(width / 2 * whole_vectors(dv)) +
           floats(width / 2 * whole_vectors(d)) + floats(WovenTile<kV>::scratch_size(d));
  }

  GradientPairs(const BackwardHead& which, const BackwardOperands& operands, std::int64_t first_row,
                std::int64_t rows, float* memory)
      : at(which),
        in(operands),
        scratch(memory),
        scores(operands.scores, first_row, rows,
               scratch.take<float>(PairScores<kV>::scratch_size(which.head.d))),
        weights(which, first_row, rows, scores.s, scratch.take<float>(GradientWeights<kV>::scratch_size())),
        dq(scratch.take<float>((head.d + 1 + kGradientKeys) * width)),
        factor(dq + head.d * width),
        seen(factor + width),
        o_columns(scratch.take<std::int32_t>(dv_pairs * width)),
        p_rows(scratch.take<std::uint16_t>(kGradientKeys * width)),
        ds_rows(scratch.take<std::uint16_t>(kGradientKeys * width)),
        ds_pairs(scratch.take<std::int32_t>(kGradientKeys / 2 * width)),
        o_rows(operands.d_out + first_row * operands.d_out_stride, operands.d_out_stride, rows, head.dv,
               scratch.take<std::int32_t>(width / 2 * whole_vectors(head.dv))),
        q_rows(operands.scores.q + first_row * operands.scores.q_stride, operands.scores.q_stride, rows,
               head.d, scratch.take<std::int32_t>(width / 2 * whole_vectors(head.d))),
        keys(operands.keys, head.d, scratch.take<float>(WovenTile<kV>::scratch_size(head.d))) {}

  void pack() {
    scores.pack_queries();
    weights.read_rows();
    for (std::int64_t i = 0; i < width; ++i) {
      factor[i] = i < count ? at.rows.inverse[first + i] * head.kept : 0;
    }
    pairs_to_columns(o_rows.rows, o_rows.stride, count, dv_pairs, o_columns, width);
    if (wants_v()) o_rows.weave();
    if (wants_k()) q_rows.weave();
    std::fill_n(dq, head.d * width, 0.0f);
  }

  // dP^T / sum of kR keys from `key` on, for the last kSeeing vectors.
  template <int kR, int kSeeing>
  HWY_INLINE void change_block(Slot (&acc)[kR][kSeeing], std::int64_t key) const {
    constexpr std::int64_t kFirst = kV - kSeeing;
    clear_block(acc);
    accumulate_pairs(acc, dv_pairs, in.v + key * in.v_stride, in.v_stride, 2, o_columns + kFirst * kLanes,
                     width);
#pragma GCC unroll 4
    for (int v = 0; v < kSeeing; ++v) {
      const V times = hn::Load(D(), factor + (kFirst + v) * kLanes),
              from = hn::Load(D(), weights.start + (kFirst + v) * kLanes);
#pragma GCC unroll 8
      for (int r = 0; r < kR; ++r) acc[r][v] = hn::MulAdd(acc[r][v], times, from);
    }
  }

  // A tile in which no option changes a score: everything happens while it is in registers.
  void plain_tile(std::int64_t first_key, std::int64_t n) {
    const D d;
    const V scale = hn::Set(d, head.scale);
    for_each_block(n, [&]<int kR>(std::int64_t j) ATTEND_BF16_ATTR {
      Slot acc[kR][kV];
      scores.make_block(acc, first_key + j);
#pragma GCC unroll 3
      for (int v = 0; v < kV; ++v) {
        const V base = hn::Load(d, weights.base + v * kLanes), times = hn::Load(d, factor + v * kLanes);
        Slot x[kR];
#pragma GCC unroll 8
        for (int r = 0; r < kR; ++r) x[r] = exponential(hn::Sub(acc[r][v], base));
#pragma GCC unroll 8
        for (int r = 0; r < kR; ++r) hn::Store(x[r], d, p + r * width + v * kLanes);
#pragma GCC unroll 4
        for (int r = 0; r < kR; r += 2) {
          const V second = r + 1 < kR ? hn::Mul(x[r + 1 < kR ? r + 1 : r], times) : hn::Zero(d);
          store_rounded(hn::Mul(x[r], times), second, p_rows + (j + r) * width + v * kLanes, width);
        }
      }
      change_block(acc, first_key + j);
#pragma GCC unroll 3
      for (int v = 0; v < kV; ++v) {
#pragma GCC unroll 4
        for (int r = 0; r < kR; r += 2) {
          const auto change = [&](int row) ATTEND_BF16_ATTR {
            const V weight = hn::Load(d, p + row * width + v * kLanes);
            return hn::Mul(hn::Mul(weight, acc[row][v]), scale);
          };
          const V second = r + 1 < kR ? change(r + 1 < kR ? r + 1 : r) : hn::Zero(d);
          keep_change(change(r), second, j + r, v);
        }
      }
    });
  }
  HWY_INLINE void keep_change(V first_row, V second_row, std::int64_t j, int v) {
    const Pairs pairs = store_rounded(first_row, second_row, ds_rows + j * width + v * kLanes, width);
    hn::Store(pairs, DI(), ds_pairs + j / 2 * width + v * kLanes);
  }

  // The same, step by step. Returns whether a key may take no part for some query.
  bool tile_with_options(std::int64_t first_key, std::int64_t n) {
    if (head.softcap != 0) {
      scores.make(first_key, n, Stage::capped);
      weights.make_slope(n);
    }
    bool masked = scores.make(first_key, n);
    for_each_sight(first_key, n, [&]<int kSeeing>(std::int64_t begin, std::int64_t end) ATTEND_BF16_ATTR {
      for_each_block(end - begin, [&]<int kR>(std::int64_t j) ATTEND_BF16_ATTR {
        Slot acc[kR][kSeeing];
        change_block(acc, first_key + begin + j);
        store_block(acc, ds + (begin + j) * width + (kV - kSeeing) * kLanes, width);
      });
    });
    if (count % 2 != 0) {  // the lane that makes a pair of the last query
      for (std::int64_t j = 0; j < n; ++j) p[j * width + count] = kMinusInfinity<float>;
      masked = true;
    }
    if (keeps_scores(first_key)) std::copy_n(p, n * width, seen);
    weights.make(first_key, n, masked);
    round_tile(n);
    return masked;
  }

  void round_tile(std::int64_t n) {
    const D d;
    const V scale = hn::Set(d, head.scale);
    for (int v = 0; v < kV; ++v) {
      const V times = hn::Load(d, factor + v * kLanes);
      for (std::int64_t j = 0; j < n; j += 2) {
        const std::int64_t x = j * width + v * kLanes;
        const auto row = [&](const float* from, V by) ATTEND_BF16_ATTR {
          return j + 1 < n ? hn::Mul(hn::Load(d, from + x + width), by) : hn::Zero(d);
        };
        store_rounded(hn::Mul(hn::Load(d, p + x), times), row(p, times), p_rows + x, width);
        keep_change(hn::Mul(hn::Load(d, ds + x), scale), row(ds, scale), j, v);
      }
    }
  }

  // As ScoreTile has it, cut between pairs of keys.
  template <class Body>
  void for_each_sight(std::int64_t first_key, std::int64_t n, const Body& body) const {
    scores.template for_each_sight<kV, 2>(first_key, 0, n, body);
  }

  bool wants_k() const { return wanted->k != nullptr; }
  bool wants_v() const { return wanted->v != nullptr; }
  bool keeps_scores(std::int64_t first_key) const {
    return !o_rows.finite || !q_rows.finite || in.keys.finite[first_key / kWovenTile] == 0;
  }

  void add_products(std::int64_t first_key, std::int64_t n, const float* scores_seen) {
    const std::int64_t row = first_key - wanted->keys.begin;
    for_each_sight(first_key, n, [&]<int kSeeing>(std::int64_t begin, std::int64_t end) ATTEND_BF16_ATTR {
      constexpr std::int64_t kLane = (kV - kSeeing) * kLanes;
      if (wants_v()) {
        o_rows.multiply(end - begin, kLane, p_rows + begin * width, width,
                        wanted->v + (row + begin) * wanted->v_stride, wanted->v_stride);
      }
      if (wants_k()) {
        q_rows.multiply(end - begin, kLane, ds_rows + begin * width, width,
                        wanted->k + (row + begin) * wanted->k_stride, wanted->k_stride);
      }
      if (at.q != nullptr) {
        keys.template multiply<kSeeing, true>(begin, end, ds_pairs + kLane, dq + kLane);
      }
    });
    if (wants_v() && !o_rows.finite) {
      o_rows.add_not_finite(n, p_rows, width, scores_seen, wanted->v + row * wanted->v_stride,
                            wanted->v_stride);
    }
    if (wants_k() && !q_rows.finite) {
      q_rows.add_not_finite(n, ds_rows, width, scores_seen, wanted->k + row * wanted->k_stride,
                            wanted->k_stride);
    }
    if (at.q != nullptr && keys.guarded) keys.add_not_finite(0, n, ds_pairs, seen, dq);
  }

  void key_tile(std::int64_t first_key, std::int64_t n) {
    if (count % 2 == 0 && !head.dropout.drops_any() && scores.plain(first_key, n)) {
      plain_tile(first_key, n);
      keys.begin(first_key, n, false);
      if (keys.guarded) std::fill_n(seen, n * width, 0.0f);
      add_products(first_key, n, nullptr);
    } else {
      keys.begin(first_key, n, tile_with_options(first_key, n));
      add_products(first_key, n, seen);
    }
  }

  void run(const KeyBlock& block) {
    wanted = &block;
    const KeyRange visible = scores.keys();
    const KeyRange range{std::max(visible.begin, block.keys.begin), std::min(visible.end, block.keys.end)};
    if (range.begin >= range.end) return;
    pack();
    for (std::int64_t key = range.begin; key < range.end;) {
      const std::int64_t next = std::min((key / kGradientKeys + 1) * kGradientKeys, range.end);
      key_tile(key, next - key);
      key = next;
    }
    if (at.q != nullptr) {
      add_columns_to_rows(dq, width, count, head.d, at.q + first * at.q_stride, at.q_stride);
    }
  }

 private:
  const KeyBlock* wanted = nullptr;
};

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
ATTEND_AFTER_BF16();
#endif  // ATTEND_BF16_PAIRS

#endif  // ATTEND_KERNELS_ATTENTION_GRADIENT_PAIRS_INL_H_
