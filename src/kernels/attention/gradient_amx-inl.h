// Gradients by tiles of AMX. K and V are read where they lie; 16 keys of 32 queries of P^T and dS^T are the
// rows of a tile as they were rounded.
#if defined(ATTEND_KERNELS_ATTENTION_GRADIENT_AMX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_ATTENTION_GRADIENT_AMX_INL_H_
#undef ATTEND_KERNELS_ATTENTION_GRADIENT_AMX_INL_H_
#else
#define ATTEND_KERNELS_ATTENTION_GRADIENT_AMX_INL_H_
#endif

#include "kernels/attention/amx_scores-inl.h"
#include "kernels/attention/amx_values-inl.h"
#include "kernels/attention/gradient_rounded-inl.h"

#if ATTEND_AMX
ATTEND_BEFORE_AMX();
namespace attend::kernels {
namespace HWY_NAMESPACE {

// 32 queries, as many as a row of a tile has numbers: a tile of fewer has lanes without one.
constexpr int kAmxGradientVectors = 2;

struct GradientTiles : RoundedGradients<GradientTiles, kAmxGradientVectors, AmxScores<kAmxGradientVectors>,
                                        WovenTile<kAmxGradientVectors, TilesOfRows>> {
  static constexpr int kV = kAmxGradientVectors;
  using Base = RoundedGradients<GradientTiles, kV, AmxScores<kV>, WovenTile<kV, TilesOfRows>>;
  static constexpr std::int64_t kWidth = kV * kLanes, kQueries = kWidth, kKeys = 64;
  static_assert(kWidth * sizeof(std::uint16_t) == kTileBytes && kGradientKeys % kKeys == 0);

  const AmxRows<kV> values;  // V dO^T
  float* const last;         // (32, 32): sums of the last keys, where they are fewer

  static std::int64_t scratch_size(std::int64_t d, std::int64_t dv) {
    const auto floats = ScratchPieces::floats_for<float>;
    return Base::scratch_size(d, dv) + floats(AmxRows<kV>::scratch_size(dv)) + floats(kAmxKeys * kAmxKeys);
  }

  GradientTiles(const BackwardHead& which, const BackwardOperands& operands, std::int64_t first_row,
                std::int64_t rows, float* memory)
      : Base(which, operands, first_row, rows, memory),
        values(operands.v, operands.v_stride, which.head.visible.key_count, which.head.dv,
               scratch.take<float>(AmxRows<kV>::scratch_size(which.head.dv))),
        last(scratch.take<float>(kAmxKeys * kAmxKeys)) {}

  void pack() {
    Base::pack();
    values.pack(o_rows.rows, o_rows.stride, count);
  }

  // A tile in which no option changes a score.
  void plain_tile(std::int64_t first_key, std::int64_t n) {
    const D d;
    scores.products.multiply(first_key, n, p);
    values.multiply(first_key, n, ds);
    const V scale = hn::Set(d, head.scale);
    for (int v = 0; v < kV; ++v) {
      const V base = hn::Load(d, weights.base + v * kLanes), times = hn::Load(d, factor + v * kLanes),
              start = hn::Load(d, weights.start + v * kLanes);
      for (std::int64_t j = 0; j < n; j += 4) {
        Slot x[4], change[4];
#pragma GCC unroll 4
        for (int r = 0; r < 4; ++r) {
          const std::int64_t from = (j + r) * kWidth + v * kLanes;
          x[r] = exponential(hn::Sub(hn::Mul(hn::Load(d, p + from), scale), base));
          change[r] = hn::Mul(hn::Mul(x[r], hn::MulAdd(hn::Load(d, ds + from), times, start)), scale);
          x[r] = hn::Mul(x[r], times);
        }
#pragma GCC unroll 2
        for (int r = 0; r < 4; r += 2) {
          keep_weights(x[r], x[r + 1], j + r, v);
          keep_change(change[r], change[r + 1], j + r, v);
        }
      }
    }
    if (n % 2 != 0) {  // the pair of the last key
      std::int32_t* const pairs = ds_pairs + n / 2 * kWidth;
      for (std::int64_t i = 0; i < kWidth; ++i) pairs[i] &= 0xffff;
    }
  }

  void make_changes(std::int64_t first_key, std::int64_t n) {
    const D d;
    values.multiply(first_key, n, ds);
    for (int v = 0; v < kV; ++v) {
      const V times = hn::Load(d, factor + v * kLanes), start = hn::Load(d, weights.start + v * kLanes);
      for (std::int64_t j = 0; j < n; ++j) {
        float* const x = ds + j * kWidth + v * kLanes;
        hn::Store(hn::MulAdd(hn::Load(d, x), times, start), d, x);
      }
    }
  }

  void add_products(std::int64_t first_key, std::int64_t n) {
    const std::int64_t row = first_key - wanted->keys.begin;
    if (wants_v()) multiply(n, p_rows, o_rows, wanted->v + row * wanted->v_stride, wanted->v_stride);
    if (wants_k()) multiply(n, ds_rows, q_rows, wanted->k + row * wanted->k_stride, wanted->k_stride);
    if (at.q == nullptr) return;
    const std::int64_t whole = (n + kAmxKeys - 1) / kAmxKeys * kAmxKeys;
    std::fill(ds_pairs + (n + 1) / 2 * kWidth, ds_pairs + whole / 2 * kWidth, 0);
    AmxProduct<kV>{whole, keys.rows(), keys.columns, ds_pairs, dq}.template run<true>();
  }

 private:
  // sums (n, columns) += factors (n, kWidth) times rows of queries.
  void multiply(std::int64_t n, const std::uint16_t* factors, const QueryRows& of, float* sums,
                std::int64_t sums_stride) const {
    for (std::int64_t j = 0; j < n; j += kAmxKeys) {
      const std::int64_t there = std::min(kAmxKeys, n - j);
      std::int64_t c = 0;
      for (; c + 2 * kLanes <= of.width; c += 2 * kLanes)
        add_block<true>(there, factors + j * kWidth, of, c, sums + j * sums_stride + c, sums_stride);
      if (c < of.width)
        add_block<false>(there, factors + j * kWidth, of, c, sums + j * sums_stride + c, sums_stride);
    }
  }

  // 32 keys, and 32 columns or 16. The sums of keys that are not there belong to somebody else.
  template <bool kTwo>
  HWY_INLINE void add_block(std::int64_t there, const std::uint16_t* factors, const QueryRows& of,
                            std::int64_t c, float* sums, std::int64_t sums_stride) const {
    constexpr std::int64_t kColumns = kTwo ? 32 : 16;
    float* to = sums;
    std::int64_t stride = sums_stride;
    if (HWY_UNLIKELY(there < kAmxKeys)) {
      to = last;
      stride = kAmxKeys;
      for (std::int64_t r = 0; r < there; ++r)
        std::copy_n(sums + r * sums_stride, kColumns, last + r * stride);
    }
    float* const below = to + kTileRows * stride;
    const std::int64_t row = 4 * stride;
    tile_load<0>(to, row);
    if constexpr (kTwo) tile_load<1>(to + kLanes, row);
    tile_load<2>(below, row);
    if constexpr (kTwo) tile_load<3>(below + kLanes, row);
    tile_load<4>(factors, kTileBytes);
    tile_load<6>(of.pairs + c, 4 * of.width);
    tile_multiply_bf16<0, 4, 6>();
    tile_load<5>(factors + kTileRows * kWidth, kTileBytes);
    tile_multiply_bf16<2, 5, 6>();
    if constexpr (kTwo) {
      tile_load<7>(of.pairs + c + kLanes, 4 * of.width);
      tile_multiply_bf16<1, 4, 7>();
      tile_multiply_bf16<3, 5, 7>();
    }
    tile_store<0>(to, row);
    if constexpr (kTwo) tile_store<1>(to + kLanes, row);
    tile_store<2>(below, row);
    if constexpr (kTwo) tile_store<3>(below + kLanes, row);
    if (HWY_UNLIKELY(there < kAmxKeys)) {
      for (std::int64_t r = 0; r < there; ++r)
        std::copy_n(last + r * stride, kColumns, sums + r * sums_stride);
    }
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
ATTEND_AFTER_AMX();
#endif  // ATTEND_AMX

#endif  // ATTEND_KERNELS_ATTENTION_GRADIENT_AMX_INL_H_
