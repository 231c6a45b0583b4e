// The product that runs over the keys of a tile: rows of keys or values, woven in pairs for all tiles of
// queries at once, times weights in pairs of keys, queries in lanes.
//
// What takes no part has weight 0, but 0 x NaN is NaN: rows that are not finite are replaced by 0 in a copy
// of the tile where one of them may take no part, and added lane by lane to the rows that see them.
#if defined(ATTEND_KERNELS_ATTENTION_WOVEN_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_ATTENTION_WOVEN_TILE_INL_H_
#undef ATTEND_KERNELS_ATTENTION_WOVEN_TILE_INL_H_
#else
#define ATTEND_KERNELS_ATTENTION_WOVEN_TILE_INL_H_
#endif

#include "kernels/attention/head_bf16.h"
#include "kernels/simd/bf16_pairs-inl.h"

#if ATTEND_BF16_PAIRS
ATTEND_BEFORE_BF16();
namespace attend::kernels {
namespace HWY_NAMESPACE {

// Where a number of row j of a tile and its neighbours stand: two rows of each column side by side.
struct PairsOfRows {
  static constexpr std::int64_t kRowsTogether = 2;
  static std::int64_t columns_for(std::int64_t n) { return n; }
};

// Of a product that takes kRowsTogether rows at once. All columns of as many rows follow each other, each
// with its numbers side by side.
template <int kV, class Order = PairsOfRows>
struct WovenTile {
  static constexpr std::int64_t kTogether = Order::kRowsTogether;

  const Woven& woven;
  const std::int64_t columns, width = kV * lanes();
  std::int32_t* const clean;  // (kWovenTile / 2, columns): 0 where the rows are not finite
  std::int64_t tile_begin = 0;
  bool guarded = false;  // whether clean is used

  static std::int64_t columns_for(std::int64_t n) { return Order::columns_for(n); }
  static std::int64_t scratch_size(std::int64_t n) { return kWovenTile / 2 * columns_for(n); }

  WovenTile(const Woven& rows, std::int64_t n, float* scratch)
      : woven(rows), columns(columns_for(n)), clean(reinterpret_cast<std::int32_t*>(scratch)) {}

  // Keys [first_key, first_key + n). `masked`: whether one may take no part for some query. What is left of
  // the last rows that are taken together has no weight.
  void begin(std::int64_t first_key, std::int64_t n, bool masked) {
    tile_begin = first_key;
    guarded = (masked || n % kTogether != 0) && woven.finite[first_key / kWovenTile] == 0;
    if (!guarded) return;
    const std::uint16_t* const from = given();
    auto* const to = reinterpret_cast<std::uint16_t*>(clean);
    for (std::int64_t i = 0; i < (n + kTogether - 1) / kTogether * kTogether * columns; ++i) {
      to[i] = finite_bits(from[i]) ? from[i] : std::uint16_t{0};
    }
  }

  // sums (columns, kMany vectors) (+)= keys [from, until) of the tile times their weights: from is even.
  template <int kMany, bool kAdd>
  HWY_INLINE void multiply(std::int64_t from, std::int64_t until, const std::int32_t* weights,
                           float* sums) const {
    static_assert(kTogether == 2);
    product_of_pairs<kMany, kAdd>(columns, (until - from + 1) / 2, rows() + from * columns, 2, 2 * columns,
                                  weights + from / 2 * width, sums, width);
  }
  // The rows of the tile without what is not finite, where that must be left out.
  const std::uint16_t* rows() const {
    return guarded ? reinterpret_cast<const std::uint16_t*>(clean) : given();
  }

  // What clean leaves out. seen (keys of the tile, width): scores, -inf where a key takes no part.
  HWY_NOINLINE void add_not_finite(std::int64_t from, std::int64_t until, const std::int32_t* weights,
                                   const float* seen, float* sums) const {
    const D d;
    const V minus_infinity = hn::Set(d, kMinusInfinity<float>);
    for (std::int64_t j = from; j < until; ++j) {
      for (std::int64_t c = 0; c < columns; ++c) {
        const std::uint16_t bits = given()[(j / kTogether * columns + c) * kTogether + j % kTogether];
        if (finite_bits(bits)) continue;
        const V value = hn::BitCast(d, hn::Set(DI(), static_cast<std::int32_t>(std::uint32_t{bits} << 16)));
        for (std::int64_t v = 0; v < width; v += lanes()) {
          const Pairs pair = hn::Load(DI(), weights + j / 2 * width + v);
          const V weight = j % 2 == 0 ? first_of(pair) : second_of(pair);
          const auto unseen = hn::Eq(hn::Load(d, seen + j * width + v), minus_infinity);
          float* const at = sums + c * width + v;
          const V total = hn::Load(d, at);
          hn::Store(hn::IfThenElse(unseen, total, hn::MulAdd(weight, value, total)), d, at);
        }
      }
    }
  }

 private:
  const std::uint16_t* given() const {
    return reinterpret_cast<const std::uint16_t*>(woven.pairs + tile_begin / 2 * columns);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
ATTEND_AFTER_BF16();
#endif  // ATTEND_BF16_PAIRS

#endif  // ATTEND_KERNELS_ATTENTION_WOVEN_TILE_INL_H_
