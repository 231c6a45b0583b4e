// The scores of a tile of queries against a tile of keys, after scale, cap, bias and mask: what every kernel
// of attention starts from, whether it goes on to outputs, weights or gradients.
//
// Queries stand in vector lanes: S^T = K Q^T is (keys, queries). K is read in place, one element broadcast to
// all lanes; Q^T is packed once. A lane's arithmetic is the same whoever its neighbours are.
#if defined(ATTEND_KERNELS_ATTENTION_SCORE_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_ATTENTION_SCORE_TILE_INL_H_
#undef ATTEND_KERNELS_ATTENTION_SCORE_TILE_INL_H_
#else
#define ATTEND_KERNELS_ATTENTION_SCORE_TILE_INL_H_
#endif

#include <attend/stage.h>

#include "kernels/attention/head.h"
#include "kernels/simd/math-inl.h"
#include "kernels/simd/micro_kernel-inl.h"
#include "kernels/simd/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

// Keys that are worked on together; tiles start at multiples of it, counted from the sequence's first key.
constexpr std::int64_t kKeyTile = 128;

HWY_INLINE std::int64_t tile_queries() { return kVectors * lanes(); }

// kV vectors of queries, [first, first + count) of the head.
template <int kV>
struct ScoreTile {
  const Head<float>& head;
  const std::int64_t first, count;
  const std::int64_t width = kV * lanes();
  float* const q;      // (d, width)
  float* const s;      // (kKeyTile, width)
  float* const extra;  // (width): one row of a bias, turned round

  static HWY_INLINE std::int64_t scratch_size(std::int64_t d) { return (d + kKeyTile + 1) * kV * lanes(); }

  // scratch: scratch_size(head.d) floats, aligned to a vector.
  HWY_ATTR ScoreTile(const Head<float>& h, std::int64_t first_row, std::int64_t rows, float* scratch)
      : head(h), first(first_row), count(rows), q(scratch), s(q + h.d * width), extra(s + kKeyTile * width) {}

  // Ranges move with the query, so the first row's begin and the last row's end enclose them all. The begin
  // is rounded down, so that a key's place among the partial sums of a tile depends on the key alone.
  KeyRange keys() const {
    return {head.visible.keys_of(first).begin / 8 * 8, head.visible.keys_of(first + count - 1).end};
  }
  // Where the tile that holds `key` ends.
  static std::int64_t next_tile(std::int64_t key, std::int64_t end) {
    return std::min((key / kKeyTile + 1) * kKeyTile, end);
  }

  HWY_ATTR void pack_queries() {
    rows_to_columns(head.query(first), head.q_stride, count, head.d, head.scale, q, width);
  }

  // Whether the scores of these keys are nothing but products: no option changes one of them.
  bool plain(std::int64_t first_key, std::int64_t n) const {
    return head.softcap == 0 && head.alibi_slope == 0 && head.bias == nullptr && head.mask == nullptr &&
           !partial(first_key, n);
  }

  // Fills s with the scores of keys [first_key, first_key + n). Stage::weights is taken as biased. True when
  // a key may take no part for some query: its score is then -inf.
  HWY_ATTR bool make(std::int64_t first_key, std::int64_t n, Stage stage = Stage::biased) {
    product<kV, false>(n, head.d, head.key(first_key), head.k_stride, 1, q, s, width);
    if (stage == Stage::scores) return false;
    if (head.softcap != 0) cap(n);
    if (stage == Stage::capped) return false;
    if (head.alibi_slope != 0) {
      for (std::int64_t j = 0; j < n; ++j) add_alibi(first_key + j, s + j * width);
    }
    if (head.bias != nullptr) {
      for (std::int64_t j = 0; j < n; ++j) add_bias(first_key + j, s + j * width);
    }
    if (head.mask != nullptr) {
      for (std::int64_t j = 0; j < n; ++j) apply_mask(first_key + j, s + j * width);
    }
    const bool cut = partial(first_key, n);
    if (cut) apply_range(first_key, n);
    return cut || head.mask != nullptr || head.bias != nullptr;
  }

  // body.template operator()<kR>(j, scores) for blocks of kR keys, key j of the tile first, while the
  // scores are in registers. Only for plain tiles: nothing is applied to the products, nor stored.
  template <class Body>
  HWY_ATTR HWY_INLINE void for_each_plain_block(std::int64_t first_key, std::int64_t n, const Body& body) {
    const float* const k = head.key(first_key);
    for_each_block(n, [&]<int kR>(std::int64_t j) HWY_ATTR {
      V acc[kR][kV];
      clear_block(acc);
      accumulate(acc, head.d, k + j * head.k_stride, head.k_stride, 1, q, width);
      body.template operator()<kR>(j, acc);
    });
  }

 private:
  // Whether a query of the tile does not see all of these keys.
  bool partial(std::int64_t first_key, std::int64_t n) const {
    return head.visible.keys_of(first + count - 1).begin > first_key ||
           head.visible.keys_of(first).end < first_key + n;
  }

  HWY_ATTR void cap(std::int64_t n) {
    const D d;
    const V softcap = hn::Set(d, head.softcap), inverse = hn::Set(d, 1 / head.softcap);
    for (std::int64_t at = 0; at < n * width; at += lanes()) {
      const V x = hn::Load(d, s + at);
      hn::Store(hn::Mul(softcap, hyperbolic_tangent(hn::Mul(x, inverse))), d, s + at);
    }
  }

  HWY_ATTR void add_alibi(std::int64_t key, float* row) {
    const D d;
    const DI di;
    const V slope = hn::Set(d, head.alibi_slope);
    const std::int64_t distance = first + head.visible.query_offset - key;
    for (int v = 0; v < kV; ++v) {
      const V lane = hn::ConvertTo(d, hn::Iota(di, static_cast<std::int32_t>(v * lanes())));
      const V apart = hn::Abs(hn::Add(hn::Set(d, static_cast<float>(distance)), lane));
      hn::Store(hn::NegMulAdd(slope, apart, hn::Load(d, row + v * lanes())), d, row + v * lanes());
    }
  }

  // -inf where the bias is -inf, whatever the score was.
  HWY_ATTR void add_bias(std::int64_t key, float* row) {
    const D d;
    const float* const source = head.bias + first * head.bias_query_stride + key * head.bias_key_stride;
    for (std::int64_t i = 0; i < count; ++i) extra[i] = source[i * head.bias_query_stride];
    for (std::int64_t i = count; i < width; ++i) extra[i] = 0;
    const V minus_infinity = hn::Set(d, kMinusInfinity<float>);
    for (int v = 0; v < kV; ++v) {
      const V bias = hn::Load(d, extra + v * lanes());
      const V biased = hn::Add(hn::Load(d, row + v * lanes()), bias);
      hn::Store(hn::IfThenElse(hn::Eq(bias, minus_infinity), minus_infinity, biased), d, row + v * lanes());
    }
  }

  HWY_ATTR void apply_mask(std::int64_t key, float* row) {
    const std::uint8_t* const source =
        head.mask + first * head.mask_query_stride + key * head.mask_key_stride;
    for (std::int64_t i = 0; i < count; ++i) {
      if (source[i * head.mask_query_stride] == 0) row[i] = kMinusInfinity<float>;
    }
  }

  // Keys outside a query's own range become -inf.
  HWY_ATTR void apply_range(std::int64_t first_key, std::int64_t n) {
    for (std::int64_t i = 0; i < count; ++i) {
      const KeyRange range = head.visible.keys_of(first + i);
      const std::int64_t begin = std::clamp<std::int64_t>(range.begin - first_key, 0, n);
      const std::int64_t end = std::clamp<std::int64_t>(range.end - first_key, begin, n);
      for (std::int64_t j = 0; j < begin; ++j) s[j * width + i] = kMinusInfinity<float>;
      for (std::int64_t j = end; j < n; ++j) s[j * width + i] = kMinusInfinity<float>;
    }
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#endif  // ATTEND_KERNELS_ATTENTION_SCORE_TILE_INL_H_
