// The scores of a tile as score_tile-inl.h makes them, by tiles of AMX: 16 keys are the rows of one, K is
// read where it lies, and 16 queries the columns of another. Q^T is packed once.
#if defined(ATTEND_KERNELS_ATTENTION_AMX_SCORES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_ATTENTION_AMX_SCORES_INL_H_
#undef ATTEND_KERNELS_ATTENTION_AMX_SCORES_INL_H_
#else
#define ATTEND_KERNELS_ATTENTION_AMX_SCORES_INL_H_
#endif

#include "kernels/attention/attention_amx.h"
#include "kernels/attention/score_tile-inl.h"
#include "kernels/simd/amx-inl.h"

#if ATTEND_AMX
ATTEND_BEFORE_AMX();
namespace attend::kernels {
namespace HWY_NAMESPACE {

// Keys that are multiplied together, and those that one product of the values takes.
constexpr std::int64_t kAmxKeys = 32;
static_assert(kKeyTile % kAmxKeys == 0 && kLanes == kTileRows);
// Of queries: with 32 keys, four tiles hold sums and four their factors.
constexpr int kAmxVectors = 2;

// Products of rows of memory, of which a tile takes 16 as they lie, with kV vectors of columns in pairs: the
// scores of keys and queries. What is left of a row beyond a multiple of 32 numbers is copied.
template <int kV>
struct AmxRows {
  static_assert(kV <= 2);
  static constexpr std::int64_t kWidth = kV * kLanes;
  static constexpr std::int64_t kStep = kTileBytes / 2;  // numbers of a row that a tile takes

  const std::uint16_t* const rows;
  const std::int64_t stride, count, n;  // of each row
  const std::int64_t steps = (n + kStep - 1) / kStep;
  std::int32_t* const columns;  // (16 * steps, kWidth)
  std::uint16_t* const copied;  // (steps, kAmxKeys, 32)

  static std::int64_t scratch_size(std::int64_t n) {
    return (n + kStep - 1) / kStep * (kTileRows * kWidth + kAmxKeys * kStep / 2);
  }

  // rows: `many` of `size` numbers.
  AmxRows(const std::uint16_t* from, std::int64_t apart, std::int64_t many, std::int64_t size, float* scratch)
      : rows(from),
        stride(apart),
        count(many),
        n(size),
        columns(reinterpret_cast<std::int32_t*>(scratch)),
        copied(reinterpret_cast<std::uint16_t*>(columns + steps * kTileRows * kWidth)) {}

  // `there` rows of n numbers become columns. An odd row is followed by a 0.
  void pack(const std::uint16_t* from, std::int64_t apart, std::int64_t there) const {
    const std::int64_t pairs = (n + 1) / 2;
    // pairs_to_columns() fills the last vector that has a row, no more.
    std::fill(columns + (there <= kWidth - kLanes ? 0 : pairs * kWidth), columns + steps * kTileRows * kWidth,
              0);
    pairs_to_columns(from, apart, there, pairs, columns, kWidth);
  }

  // to (n keys up to a multiple of kAmxKeys, kWidth): the products of rows [first, first + keys).
  void multiply(std::int64_t first, std::int64_t keys, float* to) const {
    for (std::int64_t j = 0; j < keys; j += kAmxKeys) multiply_block(first + j, to + j * kWidth);
  }

 private:
  HWY_INLINE void multiply_block(std::int64_t row, float* to) const {
    const bool whole = row + kAmxKeys <= count;
    const std::int64_t in_place = whole ? n / kStep : 0;
    for (std::int64_t step = in_place; step < steps; ++step) copy(row, step);
    tile_zero<0>();
    tile_zero<2>();
    if constexpr (kV == 2) {
      tile_zero<1>();
      tile_zero<3>();
    }
    const std::uint16_t* const from = rows + row * stride;
    for (std::int64_t step = 0; step < in_place; ++step) {
      add_step(from + step * kStep, 2 * stride, from + kTileRows * stride + step * kStep, step);
    }
    for (std::int64_t step = in_place; step < steps; ++step) {
      const std::uint16_t* const copy = copied + step * kAmxKeys * kStep;
      add_step(copy, kTileBytes, copy + kTileRows * kStep, step);
    }
    float* const below = to + kTileRows * kWidth;
    tile_store<0>(to, 4 * kWidth);
    tile_store<2>(below, 4 * kWidth);
    if constexpr (kV == 2) {
      tile_store<1>(to + kLanes, 4 * kWidth);
      tile_store<3>(below + kLanes, 4 * kWidth);
    }
  }

  HWY_INLINE void add_step(const std::uint16_t* a, std::int64_t a_row, const std::uint16_t* below,
                           std::int64_t step) const {
    const std::int32_t* const b = columns + step * kTileRows * kWidth;
    tile_load<4>(a, a_row);
    tile_load<6>(b, 4 * kWidth);
    tile_multiply_bf16<0, 4, 6>();
    tile_load<5>(below, a_row);
    tile_multiply_bf16<2, 5, 6>();
    if constexpr (kV == 2) {
      tile_load<7>(b + kLanes, 4 * kWidth);
      tile_multiply_bf16<1, 4, 7>();
      tile_multiply_bf16<3, 5, 7>();
    }
  }

  // A tile reads 32 rows of 32 numbers, whether they are there or not.
  HWY_NOINLINE void copy(std::int64_t row, std::int64_t step) const {
    const std::int64_t there = std::min(kAmxKeys, count - row), left = std::min(kStep, n - step * kStep);
    const auto mask = static_cast<__mmask32>((std::uint64_t{1} << left) - 1);
    std::uint16_t* const to = copied + step * kAmxKeys * kStep;
    for (std::int64_t r = 0; r < there; ++r) {
      const __m512i x = _mm512_maskz_loadu_epi16(mask, rows + (row + r) * stride + step * kStep);
      _mm512_store_si512(to + r * kStep, x);
    }
    std::fill(to + there * kStep, to + kAmxKeys * kStep, std::uint16_t{0});
  }
};

template <int kV>
struct AmxScores : ScoreTile<kV> {
  using Base = ScoreTile<kV>;

  const HeadBf16& in;
  const AmxRows<kV> products;
  // Whether the scale can be left to whoever reads stored products, for whom it costs nothing. What bounds
  // and masks do to them is the same.
  const bool unscaled = in.head.softcap == 0 && in.head.alibi_slope == 0 && in.head.bias == nullptr &&
                        in.head.scale > 0 && in.head.scale < 1e30F;

  // Memory that tiles which take turns may share, and what each needs for itself.
  static std::int64_t shared_size(std::int64_t d) { return Base::scratch_size(d); }
  static std::int64_t own_size(std::int64_t d) { return AmxRows<kV>::scratch_size(d); }
  static std::int64_t scratch_size(std::int64_t d) { return shared_size(d) + own_size(d); }

  AmxScores(const HeadBf16& h, std::int64_t first_row, std::int64_t rows, float* shared, float* own)
      : Base(h.head, first_row, rows, shared),
        in(h),
        products(h.k, h.k_stride, h.head.visible.key_count, h.head.d, own) {}
  AmxScores(const HeadBf16& h, std::int64_t first_row, std::int64_t rows, float* scratch)
      : AmxScores(h, first_row, rows, scratch, scratch + shared_size(h.head.d)) {}

  // Keys that are multiplied together begin at multiples of their number: a key's place among them depends on
  // the key alone.
  KeyRange keys() const {
    const KeyRange visible = Base::keys();
    return {visible.begin - visible.begin % kAmxKeys, visible.end};
  }

  void pack_queries() const { products.pack(in.query(this->first), in.q_stride, this->count); }

  // As ScoreTile::make(), and -inf up to a multiple of kAmxKeys; without the scale if it may be left out.
  bool make_unscaled(std::int64_t first_key, std::int64_t n) {
    products.multiply(first_key, n, this->s);
    if (!unscaled) scale(n);
    const bool masked = !this->plain(first_key, n) && this->apply_options(first_key, n);
    const std::int64_t end = (n + kAmxKeys - 1) / kAmxKeys * kAmxKeys;
    std::fill(this->s + n * this->width, this->s + end * this->width, kMinusInfinity<float>);
    return masked;
  }
  bool make(std::int64_t first_key, std::int64_t n, Stage stage = Stage::biased) {
    products.multiply(first_key, n, this->s);
    scale(n);
    return this->apply_options(first_key, n, stage);
  }

 private:
  void scale(std::int64_t n) {
    const D d;
    const V by = hn::Set(d, in.head.scale);
    for (std::int64_t x = 0; x < n * this->width; x += lanes())
      hn::Store(hn::Mul(by, hn::Load(d, this->s + x)), d, this->s + x);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
ATTEND_AFTER_AMX();
#endif  // ATTEND_AMX

#endif  // ATTEND_KERNELS_ATTENTION_AMX_SCORES_INL_H_
