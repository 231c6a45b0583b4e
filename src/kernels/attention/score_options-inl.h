// What the options of attention do to a tile of scores, queries in lanes: cap, ALiBi, bias, mask and range.
// Each is a pass of its own over the tile, taken only where the option is used.
#if defined(ATTEND_KERNELS_ATTENTION_SCORE_OPTIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_ATTENTION_SCORE_OPTIONS_INL_H_
#undef ATTEND_KERNELS_ATTENTION_SCORE_OPTIONS_INL_H_
#else
#define ATTEND_KERNELS_ATTENTION_SCORE_OPTIONS_INL_H_
#endif

#include "kernels/attention/head.h"
#include "kernels/simd/math-inl.h"
#include "kernels/simd/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

// The scores s[j * width + i] of keys first_key + j, j < n, for queries first + i, i < count. Lanes from
// count to width hold no query: what becomes of them does not matter.
struct ScoredTile {
  const Head<float>& head;
  const std::int64_t first, count, first_key, n, width;
  float* const s;
  float* const extra;  // as large as s: a bias or a mask on its way into lanes
};

HWY_ATTR inline void apply_cap(const ScoredTile& tile) {
  const D d;
  const V softcap = hn::Set(d, tile.head.softcap), inverse = hn::Set(d, 1 / tile.head.softcap);
  for (std::int64_t at = 0; at < tile.n * tile.width; at += lanes()) {
    const V x = hn::Load(d, tile.s + at);
    hn::Store(hn::Mul(softcap, hyperbolic_tangent(hn::Mul(x, inverse))), d, tile.s + at);
  }
}

HWY_ATTR inline void add_alibi(const ScoredTile& tile) {
  const D d;
  const DI di;
  const V slope = hn::Set(d, tile.head.alibi_slope);
  for (std::int64_t v = 0; v < tile.width; v += lanes()) {
    const V lane = hn::ConvertTo(d, hn::Iota(di, static_cast<std::int32_t>(v)));
    for (std::int64_t j = 0; j < tile.n; ++j) {
      const std::int64_t distance = tile.first + tile.head.visible.query_offset - (tile.first_key + j);
      const V apart = hn::Abs(hn::Add(hn::Set(d, static_cast<float>(distance)), lane));
      float* const at = tile.s + j * tile.width + v;
      hn::Store(hn::NegMulAdd(slope, apart, hn::Load(d, at)), d, at);
    }
  }
}

// -inf where the bias is -inf, whatever the score was.
HWY_ATTR inline void add_bias(const ScoredTile& tile) {
  const D d;
  const Head<float>& head = tile.head;
  const float* const source =
      head.bias + tile.first * head.bias_query_stride + tile.first_key * head.bias_key_stride;
  const bool one_row = head.bias_query_stride == 0;
  if (!one_row && head.bias_key_stride == 1) {
    rows_to_columns(source, head.bias_query_stride, tile.count, tile.n, 1.0f, tile.extra, tile.width);
  } else if (!one_row) {
    for (std::int64_t j = 0; j < tile.n; ++j) {
      for (std::int64_t i = 0; i < tile.count; ++i) {
        tile.extra[j * tile.width + i] = source[i * head.bias_query_stride + j * head.bias_key_stride];
      }
    }
  }
  const V minus_infinity = hn::Set(d, kMinusInfinity<float>);
  for (std::int64_t j = 0; j < tile.n; ++j) {
    for (std::int64_t v = 0; v < tile.width; v += lanes()) {
      float* const at = tile.s + j * tile.width + v;
      const V bias = one_row ? hn::Set(d, source[j * head.bias_key_stride])
                             : hn::Load(d, tile.extra + j * tile.width + v);
      const V biased = hn::Add(hn::Load(d, at), bias);
      hn::Store(hn::IfThenElse(hn::Eq(bias, minus_infinity), minus_infinity, biased), d, at);
    }
  }
}

HWY_ATTR inline void apply_mask(const ScoredTile& tile) {
  const D d;
  const Head<float>& head = tile.head;
  const std::uint8_t* const source =
      head.mask + tile.first * head.mask_query_stride + tile.first_key * head.mask_key_stride;
  if (head.mask_query_stride == 0) {  // the same for every query: a mask of padding
    for (std::int64_t j = 0; j < tile.n; ++j) {
      if (source[j * head.mask_key_stride] == 0) {
        std::fill_n(tile.s + j * tile.width, tile.width, kMinusInfinity<float>);
      }
    }
    return;
  }
  const hn::Rebind<std::uint8_t, D> bytes;
  const DI di;
  const V minus_infinity = hn::Set(d, kMinusInfinity<float>);
  // A few keys at a time: their bytes as floats, row by row, then transposed.
  for (std::int64_t j = 0; j < tile.n; j += kLanes) {
    const std::int64_t size = std::min<std::int64_t>(kLanes, tile.n - j);
    for (std::int64_t i = 0; i < tile.count; i += kLanes) {
      const std::int64_t there = std::min<std::int64_t>(kLanes, tile.count - i);
      HWY_ALIGN std::uint8_t padded[kLanes] = {};
      Slot x[kLanes];
      for (int r = 0; r < kLanes; ++r) x[r] = hn::Zero(d);
      for (std::int64_t r = 0; r < there; ++r) {
        const std::uint8_t* row = source + (i + r) * head.mask_query_stride + j * head.mask_key_stride;
        if (size < kLanes || head.mask_key_stride != 1) {
          for (std::int64_t c = 0; c < size; ++c) padded[c] = row[c * head.mask_key_stride];
          row = padded;
        }
        x[r] = hn::ConvertTo(d, hn::PromoteTo(di, hn::LoadU(bytes, row)));
      }
      transpose_block(x);
      for (std::int64_t c = 0; c < size; ++c) {
        float* const at = tile.s + (j + c) * tile.width + i;
        hn::Store(hn::IfThenElse(hn::Eq(x[c], hn::Zero(d)), minus_infinity, hn::Load(d, at)), d, at);
      }
    }
  }
}

// Keys outside a query's own range become -inf.
HWY_ATTR inline void apply_range(const ScoredTile& tile) {
  const D d;
  float* const begin = tile.extra;
  float* const end = tile.extra + tile.width;
  std::int64_t last_begin = 0, first_end = tile.n;
  for (std::int64_t i = 0; i < tile.width; ++i) {
    const KeyRange range = tile.head.visible.keys_of(tile.first + std::min(i, tile.count - 1));
    const std::int64_t from = std::clamp<std::int64_t>(range.begin - tile.first_key, 0, tile.n);
    const std::int64_t to = std::clamp<std::int64_t>(range.end - tile.first_key, 0, tile.n);
    begin[i] = static_cast<float>(from);
    end[i] = static_cast<float>(to);
    last_begin = std::max(last_begin, from);
    first_end = std::min(first_end, to);
  }
  const V minus_infinity = hn::Set(d, kMinusInfinity<float>);
  for (std::int64_t j = 0; j < tile.n; ++j) {
    if (j >= last_begin && j < first_end) continue;
    const V key = hn::Set(d, static_cast<float>(j));
    for (std::int64_t v = 0; v < tile.width; v += lanes()) {
      float* const at = tile.s + j * tile.width + v;
      const auto seen = hn::And(hn::Ge(key, hn::Load(d, begin + v)), hn::Lt(key, hn::Load(d, end + v)));
      hn::Store(hn::IfThenElse(seen, hn::Load(d, at), minus_infinity), d, at);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#endif  // ATTEND_KERNELS_ATTENTION_SCORE_OPTIONS_INL_H_
