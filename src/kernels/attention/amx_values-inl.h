// O^T += V^T P^T by tiles of AMX: 16 columns of the values are the rows of one, with 32 keys side by side; of
// weights in pairs of keys, another has 32 keys of 16 queries.
#if defined(ATTEND_KERNELS_ATTENTION_AMX_VALUES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_ATTENTION_AMX_VALUES_INL_H_
#undef ATTEND_KERNELS_ATTENTION_AMX_VALUES_INL_H_
#else
#define ATTEND_KERNELS_ATTENTION_AMX_VALUES_INL_H_
#endif

#include "kernels/attention/woven_tile-inl.h"
#include "kernels/simd/amx-inl.h"

#if ATTEND_AMX
ATTEND_BEFORE_AMX();
namespace attend::kernels {
namespace HWY_NAMESPACE {

struct TilesOfRows {
  static constexpr std::int64_t kRowsTogether = 32;
  static std::int64_t columns_for(std::int64_t n) { return (n + kTileRows - 1) / kTileRows * kTileRows; }
};

// As weave_rows() has it, in the order of TilesOfRows.
inline bool weave_tiles(const std::uint16_t* rows, std::int64_t stride, std::int64_t count, std::int64_t n,
                        std::int32_t* tiles) {
  const std::int64_t columns = TilesOfRows::columns_for(n);
  __mmask32 wrong = 0;
  for (std::int64_t first = 0; first < count; first += TilesOfRows::kRowsTogether) {
    for (std::int64_t c = 0; c < n; c += kLanes) {
      Slot x[kLanes];
      for (int pair = 0; pair < kLanes; ++pair) {
        const __m512i both = two_rows(rows + c, stride, first + 2 * pair, count, first_lanes(n - c));
        wrong |= not_finite(both);
        x[pair] = hn::BitCast(D(), woven_halves(both));
      }
      transpose_block(x);
      std::int32_t* const to = tiles + (first / 2 * columns) + c * kLanes;
      for (int i = 0; i < kLanes; ++i) hn::Store(hn::BitCast(DI(), x[i]), DI(), to + i * kLanes);
    }
  }
  return wrong == 0;
}

// sums (columns, kV vectors) (+)= the values of some keys times their weights, 32 columns at a time.
template <int kV>
struct AmxProduct {
  static_assert(kV <= 2);
  static constexpr std::int64_t kKeys = TilesOfRows::kRowsTogether, kColumns = 2 * kTileRows;
  static constexpr std::int64_t kWidth = kV * kLanes, kRow = 4 * kWidth;

  std::int64_t keys;            // a multiple of kKeys
  const std::uint16_t* values;  // as weave_tiles() leaves them
  std::int64_t columns;
  const std::int32_t* weights;  // (keys / 2, kWidth)
  float* sums;

  template <bool kAdd>
  HWY_INLINE void run() const {
    std::int64_t c = 0;
    for (; c + kColumns <= columns; c += kColumns) run_block<kAdd, true>(c);
    if (c < columns) run_block<kAdd, false>(c);
  }

 private:
  // 32 columns, or 16.
  template <bool kAdd, bool kTwo>
  HWY_INLINE void run_block(std::int64_t c) const {
    constexpr bool kPair = kV == 2;
    float* const to = sums + c * kWidth;
    float* const below = to + kTileRows * kWidth;
    if constexpr (kAdd) {
      tile_load<0>(to, kRow);
      if constexpr (kPair) tile_load<1>(to + kLanes, kRow);
      if constexpr (kTwo) tile_load<2>(below, kRow);
      if constexpr (kTwo && kPair) tile_load<3>(below + kLanes, kRow);
    } else {
      tile_zero<0>();
      if constexpr (kPair) tile_zero<1>();
      if constexpr (kTwo) tile_zero<2>();
      if constexpr (kTwo && kPair) tile_zero<3>();
    }
    const std::uint16_t* v = values + c * kKeys;
    const std::int32_t* p = weights;
    for (std::int64_t j = 0; j < keys; j += kKeys) {
      tile_load<4>(v, kTileBytes);
      tile_load<6>(p, kRow);
      tile_multiply_bf16<0, 4, 6>();
      if constexpr (kTwo) {
        tile_load<5>(v + kTileRows * kKeys, kTileBytes);
        tile_multiply_bf16<2, 5, 6>();
      }
      if constexpr (kPair) {
        tile_load<7>(p + kLanes, kRow);
        tile_multiply_bf16<1, 4, 7>();
        if constexpr (kTwo) tile_multiply_bf16<3, 5, 7>();
      }
      v += columns * kKeys;
      p += kKeys / 2 * kWidth;
    }
    tile_store<0>(to, kRow);
    if constexpr (kPair) tile_store<1>(to + kLanes, kRow);
    if constexpr (kTwo) tile_store<2>(below, kRow);
    if constexpr (kTwo && kPair) tile_store<3>(below + kLanes, kRow);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
ATTEND_AFTER_AMX();
#endif  // ATTEND_AMX

#endif  // ATTEND_KERNELS_ATTENTION_AMX_VALUES_INL_H_
