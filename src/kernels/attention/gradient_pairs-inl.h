// Gradients by AVX512-BF16: rows of K, V, P^T and dS^T are read by broadcast, a pair at a time.
#if defined(ATTEND_KERNELS_ATTENTION_GRADIENT_PAIRS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_ATTENTION_GRADIENT_PAIRS_INL_H_
#undef ATTEND_KERNELS_ATTENTION_GRADIENT_PAIRS_INL_H_
#else
#define ATTEND_KERNELS_ATTENTION_GRADIENT_PAIRS_INL_H_
#endif

#include "kernels/attention/gradient_rounded-inl.h"
#include "kernels/attention/pair_scores-inl.h"

#if ATTEND_BF16_PAIRS
ATTEND_BEFORE_BF16();
namespace attend::kernels {
namespace HWY_NAMESPACE {

template <int kV>
struct GradientPairs : RoundedGradients<GradientPairs<kV>, kV, PairScores<kV>, WovenTile<kV>> {
  using Base = RoundedGradients<GradientPairs<kV>, kV, PairScores<kV>, WovenTile<kV>>;
  using Base::at, Base::count, Base::ds, Base::dq, Base::factor, Base::head, Base::in, Base::keys, Base::p,
      Base::o_rows, Base::p_rows, Base::q_rows, Base::ds_pairs, Base::ds_rows, Base::scores, Base::wanted,
      Base::weights, Base::width;
  static constexpr std::int64_t kQueries = 2, kKeys = kGradientKeys;

  const std::int64_t dv_pairs = (head.dv + 1) / 2;
  std::int32_t* const o_columns;  // (dv_pairs, width)

  static std::int64_t scratch_size(std::int64_t d, std::int64_t dv) {
    return Base::scratch_size(d, dv) + ScratchPieces::floats_for<float>((dv + 1) / 2 * kV * lanes());
  }

  GradientPairs(const BackwardHead& which, const BackwardOperands& operands, std::int64_t first_row,
                std::int64_t rows, float* memory)
      : Base(which, operands, first_row, rows, memory),
        o_columns(this->scratch.template take<std::int32_t>(dv_pairs * width)) {}

  void pack() {
    Base::pack();
    pairs_to_columns(o_rows.rows, o_rows.stride, count, dv_pairs, o_columns, width);
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
          this->keep_weights(hn::Mul(x[r], times), second, j + r, v);
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
          this->keep_change(change(r), second, j + r, v);
        }
      }
    });
  }

  void make_changes(std::int64_t first_key, std::int64_t n) {
    for_each_sight(first_key, n, [&]<int kSeeing>(std::int64_t begin, std::int64_t end) ATTEND_BF16_ATTR {
      for_each_block(end - begin, [&]<int kR>(std::int64_t j) ATTEND_BF16_ATTR {
        Slot acc[kR][kSeeing];
        change_block(acc, first_key + begin + j);
        store_block(acc, ds + (begin + j) * width + (kV - kSeeing) * kLanes, width);
      });
    });
  }

  void add_products(std::int64_t first_key, std::int64_t n) {
    const std::int64_t row = first_key - wanted->keys.begin;
    for_each_sight(first_key, n, [&]<int kSeeing>(std::int64_t begin, std::int64_t end) ATTEND_BF16_ATTR {
      constexpr std::int64_t kLane = (kV - kSeeing) * kLanes;
      if (this->wants_v()) {
        multiply(o_rows, end - begin, kLane, p_rows + begin * width,
                 wanted->v + (row + begin) * wanted->v_stride, wanted->v_stride);
      }
      if (this->wants_k()) {
        multiply(q_rows, end - begin, kLane, ds_rows + begin * width,
                 wanted->k + (row + begin) * wanted->k_stride, wanted->k_stride);
      }
      if (at.q != nullptr) {
        keys.template multiply<kSeeing, true>(begin, end, ds_pairs + kLane, dq + kLane);
      }
    });
  }

 private:
  // As ScoreTile has it, cut between pairs of keys.
  template <class Body>
  void for_each_sight(std::int64_t first_key, std::int64_t n, const Body& body) const {
    scores.template for_each_sight<kV, 2>(first_key, 0, n, body);
  }

  // sums (n keys, columns) += factors (n, width) of queries [lane, count) times their rows.
  void multiply(const QueryRows& of, std::int64_t n, std::int64_t lane, const std::uint16_t* factors,
                float* sums, std::int64_t sums_stride) const {
    add_outer_product_of_pairs(n, (count - lane + 1) / 2, factors + lane, width,
                               of.pairs + lane / 2 * of.width, sums, sums_stride, of.width);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
ATTEND_AFTER_BF16();
#endif  // ATTEND_BF16_PAIRS

#endif  // ATTEND_KERNELS_ATTENTION_GRADIENT_PAIRS_INL_H_
