// The scores of a tile as score_tile-inl.h makes them, from products of bf16 numbers summed in fp32: pairs
// along the head size, K read in place, a pair broadcast to all lanes; Q^T is packed once a tile. Forward,
// weights on demand and backward all start from these, so that they have the same bits.
#if defined(ATTEND_KERNELS_ATTENTION_PAIR_SCORES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_ATTENTION_PAIR_SCORES_INL_H_
#undef ATTEND_KERNELS_ATTENTION_PAIR_SCORES_INL_H_
#else
#define ATTEND_KERNELS_ATTENTION_PAIR_SCORES_INL_H_
#endif

#include "kernels/attention/head_bf16.h"
#include "kernels/attention/score_tile-inl.h"
#include "kernels/simd/bf16_pairs-inl.h"

#if ATTEND_BF16_PAIRS
ATTEND_BEFORE_BF16();
namespace attend::kernels {
namespace HWY_NAMESPACE {

template <int kV>
struct PairScores : ScoreTile<kV> {
  using Base = ScoreTile<kV>;
  const HeadBf16& paired;
  const std::int64_t d_pairs = (paired.head.d + 1) / 2;
  std::int32_t* const q_pairs = reinterpret_cast<std::int32_t*>(Base::q);  // (d_pairs, width)

  PairScores(const HeadBf16& h, std::int64_t first_row, std::int64_t rows, float* scratch)
      : Base(h.head, first_row, rows, scratch), paired(h) {}

  void pack_queries() {
    pairs_to_columns(paired.query(this->first), paired.q_stride, this->count, d_pairs, q_pairs, this->width);
  }

  // The products of kR keys, from `key` on. The scale multiplies the sums: folded into the queries it would
  // round them again.
  template <int kR>
  HWY_INLINE void make_block(Slot (&acc)[kR][kV], std::int64_t key) {
    const V scale = hn::Set(D(), this->head.scale);
    clear_block(acc);
    accumulate_pairs(acc, d_pairs, paired.k + key * paired.k_stride, paired.k_stride, 2, q_pairs,
                     this->width);
#pragma GCC unroll 8
    for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < kV; ++v) acc[r][v] = hn::Mul(acc[r][v], scale);
    }
  }

  // As ScoreTile::make().
  bool make(std::int64_t first_key, std::int64_t n, Stage stage = Stage::biased) {
    for_each_block(n, [&]<int kR>(std::int64_t j) ATTEND_BF16_ATTR {
      Slot acc[kR][kV];
      make_block(acc, first_key + j);
      store_block(acc, this->s + j * this->width, this->width);
    });
    return this->apply_options(first_key, n, stage);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
ATTEND_AFTER_BF16();
#endif  // ATTEND_BF16_PAIRS

#endif  // ATTEND_KERNELS_ATTENTION_PAIR_SCORES_INL_H_
