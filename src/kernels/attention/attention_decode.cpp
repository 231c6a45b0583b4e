// How it works: vectors run along the head dimension. For a block of keys and all the rows that share them,
//   s_j = q . k_j        key after key, the sums over lanes of several keys formed together
//   p_j = exp(s_j - max) keys in lanes; the block's own maximum
//   o  += p_j v_j        p_j broadcast, o in registers, value after value
// Memory is read strictly forwards and in long runs: that keeps the machine's own prefetching ahead, and was
// worth more than any prefetching by instruction. A row's arithmetic is the same whoever it shares the keys
// with, and a key is in the same lane wherever the range of keys begins.
#include "kernels/attention/attention_decode.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/attention_decode.cpp"
#include <hwy/foreach_target.h>

#include <type_traits>

#include "kernels/simd/math-inl.h"
#include "kernels/simd/storage-inl.h"
#include "kernels/simd/sum_across-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

constexpr int kKeyStep = kLanes < 4 ? 4 : kLanes;  // keys whose sums over lanes are formed together
static_assert(kDecodeBlock % kKeyStep == 0);

// Vectors of o that stay in registers while the values pass: half of the registers there are.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_NEON
constexpr int kMostSums = 16;
#else
constexpr int kMostSums = 8;
#endif
constexpr int kMostRows = 4;  // that share one reading of a key or value

// Columns that are taken together when there are fewer left: 80 and 96 are 5 and 6 vectors of 16.
constexpr int fewer_columns(int columns) {
  return columns == 8 ? 6 : columns == 6 ? 5 : columns == 5 ? 4 : columns / 2;
}

// The weight of a key that takes no part. It adds nothing, and unlike the 0 of a far smaller score it keeps
// even a value of NaN out.
constexpr float kNoPart = -0.0f;

HWY_INLINE std::int64_t padded(std::int64_t n) { return (n + lanes() - 1) / lanes() * lanes(); }

template <class T>
struct DecodePanel {
  const StoredKeys& stored;
  const DecodeRow* const rows;
  const std::int64_t count;
  const std::int64_t d = rows[0].head->d, dv = rows[0].head->dv;
  const std::int64_t q_width = padded(d), o_width = padded(dv);
  float* const q;       // (count, q_width), scaled, zeros after d
  float* const o;       // (count, o_width)
  float* const s;       // (count, kDecodeBlock): scores, then weights
  float* const scales;  // (kDecodeBlock): of the rows, where these are int8

  HWY_ATTR DecodePanel(const StoredKeys& keys, const DecodeRow* first, std::int64_t number, float* scratch)
      : stored(keys),
        rows(first),
        count(number),
        q(scratch),
        o(q + kDecodeRows * q_width),
        s(o + kDecodeRows * o_width),
        scales(s + kDecodeRows * kDecodeBlock) {}

  static constexpr bool kScaled = std::is_same_v<T, std::int8_t>;
  static constexpr std::int64_t kScaleBytes = 4;  // before the numbers of such a row
  const std::int64_t k_step = stored.k_stride * (kScaled ? kScaleBytes : 1);
  const std::int64_t v_step = stored.v_stride * (kScaled ? kScaleBytes : 1);

  const T* key(std::int64_t j) const {
    return static_cast<const T*>(stored.k) + j * k_step + (kScaled ? kScaleBytes : 0);
  }
  const T* value(std::int64_t j) const {
    return static_cast<const T*>(stored.v) + j * v_step + (kScaled ? kScaleBytes : 0);
  }

  // The scales of the keys or values of the block, and the numbers of row r, scores or weights, times them.
  // What takes no part stays as it is, whatever its row holds.
  HWY_ATTR void gather_scales(const void* rows_of_keys, std::int64_t stride, std::int64_t keys) {
    const auto* const from = static_cast<const float*>(rows_of_keys);
    for (std::int64_t j = 0; j < keys; ++j) scales[j] = from[j * stride];
    std::fill(scales + keys, scales + padded(keys), 0.0f);
  }
  HWY_ATTR void apply_scales(std::int64_t r, std::int64_t keys) {
    const D dd;
    const DI di;
    float* const row = s + r * kDecodeBlock;
    for (std::int64_t j = 0; j < keys; j += lanes()) {
      const V x = hn::Load(dd, row + j);
      const auto none = hn::Eq(hn::BitCast(di, x), hn::BitCast(di, hn::Set(dd, kNoPart)));
      hn::Store(hn::IfThenElse(hn::RebindMask(dd, none), x, hn::Mul(x, hn::Load(dd, scales + j))), dd,
                row + j);
    }
  }

  HWY_ATTR void start() {
    for (std::int64_t r = 0; r < count; ++r) {
      const Head<float>& head = *rows[r].head;
      const float* const query = head.query(rows[r].query);
      for (std::int64_t c = 0; c < d; ++c) q[r * q_width + c] = head.scale * query[c];
      std::fill(q + r * q_width + d, q + (r + 1) * q_width, 0.0f);
      std::fill(o + r * o_width, o + (r + 1) * o_width, 0.0f);
    }
  }

  // The products of one key with kR rows, still to be summed over lanes.
  template <int kR>
  HWY_ATTR HWY_INLINE void products(const T* from, const float* query, Slot (&sums)[kR]) const {
    const D dd;
#pragma GCC unroll 4
    for (int r = 0; r < kR; ++r) sums[r] = hn::Zero(dd);
    std::int64_t c = 0;
    for (; c + lanes() <= d; c += lanes()) {
      const V x = load_stored(from + c);
#pragma GCC unroll 4
      for (int r = 0; r < kR; ++r) sums[r] = hn::MulAdd(hn::Load(dd, query + r * q_width + c), x, sums[r]);
    }
    if (c < d) {
      const V x = load_first(from + c, d - c);
#pragma GCC unroll 4
      for (int r = 0; r < kR; ++r) sums[r] = hn::MulAdd(hn::Load(dd, query + r * q_width + c), x, sums[r]);
    }
  }

  // Scores of keys [j, j + kKeyStep) of the block; keys after `last` are read as `last` and masked later.
  template <int kR>
  HWY_ATTR void score(std::int64_t first_key, std::int64_t j, std::int64_t last, std::int64_t r0) {
    const D dd;
    const float* const query = q + r0 * q_width;
    float* const to = s + r0 * kDecodeBlock + j;
    const auto at = [&](std::int64_t i) HWY_ATTR { return key(first_key + std::min(j + i, last)); };
#if HWY_TARGET == HWY_SCALAR
    for (int i = 0; i < kKeyStep; ++i) {
      Slot sums[kR];
      products<kR>(at(i), query, sums);
      for (int r = 0; r < kR; ++r) hn::Store(sums[r], dd, to + r * kDecodeBlock + i);
    }
#else
    Slot parts[kR][kQuads];
#pragma GCC unroll 4
    for (int quad = 0; quad < kQuads; ++quad) {
      Slot s0[kR], s1[kR], s2[kR], s3[kR];
      products<kR>(at(4 * quad), query, s0);
      products<kR>(at(4 * quad + 1), query, s1);
      products<kR>(at(4 * quad + 2), query, s2);
      products<kR>(at(4 * quad + 3), query, s3);
#pragma GCC unroll 4
      for (int r = 0; r < kR; ++r) parts[r][quad] = sum_within_blocks(s0[r], s1[r], s2[r], s3[r]);
    }
#pragma GCC unroll 4
    for (int r = 0; r < kR; ++r) hn::Store(sum_of_blocks(parts[r]), dd, to + r * kDecodeBlock);
#endif
  }

  // What the options make of the scores of row r. True when some key of the block may take no part in it.
  HWY_ATTR bool adjust(std::int64_t r, std::int64_t first_key, std::int64_t keys) {
    const D dd;
    const Head<float>& head = *rows[r].head;
    const std::int64_t i = rows[r].query;
    float* const row = s + r * kDecodeBlock;
    if (head.softcap != 0) {
      const V softcap = hn::Set(dd, head.softcap), inverse = hn::Set(dd, 1 / head.softcap);
      for (std::int64_t j = 0; j < keys; j += lanes()) {
        const V x = hn::Load(dd, row + j);
        hn::Store(hn::Mul(softcap, hyperbolic_tangent(hn::Mul(x, inverse))), dd, row + j);
      }
    }
    if (head.alibi_slope != 0) {
      const V slope = hn::Set(dd, head.alibi_slope);
      const std::int64_t distance = i + head.visible.query_offset - first_key;
      for (std::int64_t j = 0; j < keys; j += lanes()) {
        const V apart = hn::Sub(hn::Set(dd, static_cast<float>(distance - j)), hn::Iota(dd, 0.0f));
        hn::Store(hn::NegMulAdd(slope, hn::Abs(apart), hn::Load(dd, row + j)), dd, row + j);
      }
    }
    if (head.bias != nullptr) {
      const float* const bias = head.bias + i * head.bias_query_stride + first_key * head.bias_key_stride;
      for (std::int64_t j = 0; j < keys; ++j) {
        const float b = bias[j * head.bias_key_stride];
        row[j] = b == kMinusInfinity<float> ? b : row[j] + b;
      }
    }
    if (head.mask != nullptr) {
      const std::uint8_t* const mask =
          head.mask + i * head.mask_query_stride + first_key * head.mask_key_stride;
      for (std::int64_t j = 0; j < keys; ++j) {
        if (mask[j * head.mask_key_stride] == 0) row[j] = kMinusInfinity<float>;
      }
    }
    const KeyRange range = head.visible.keys_of(i);
    const std::int64_t begin = std::clamp<std::int64_t>(range.begin - first_key, 0, keys);
    const std::int64_t end = std::clamp<std::int64_t>(range.end - first_key, begin, keys);
    std::fill(row, row + begin, kMinusInfinity<float>);
    std::fill(row + end, row + padded(keys), kMinusInfinity<float>);
    return begin > 0 || end < keys || head.mask != nullptr || head.bias != nullptr;
  }

  // Scores of row r to weights, in place; their maximum and sum.
  HWY_ATTR RowNumbers exponentials(std::int64_t r, std::int64_t keys) {
    const D dd;
    float* const row = s + r * kDecodeBlock;
    const V minus_infinity = hn::Set(dd, kMinusInfinity<float>), no_part = hn::Set(dd, kNoPart);
    V largest = minus_infinity;
    for (std::int64_t j = 0; j < keys; j += lanes()) largest = hn::Max(largest, hn::Load(dd, row + j));
    const float max = hn::GetLane(hn::MaxOfLanes(dd, largest));
    // Without any key 0 is taken for -inf, so that -inf - -inf never arises.
    const V base = hn::Set(dd, max == kMinusInfinity<float> ? 0 : max);
    V total = hn::Zero(dd);
    for (std::int64_t j = 0; j < keys; j += lanes()) {
      const V x = hn::Load(dd, row + j);
      const V p = hn::IfThenElse(hn::Eq(x, minus_infinity), no_part, exponential(hn::Sub(x, base)));
      hn::Store(p, dd, row + j);
      total = hn::Add(total, p);
    }
    return {max, hn::GetLane(hn::SumOfLanes(dd, total))};
  }

  // o += p v for kR rows and kC vectors of columns from c on, or with kPart the last columns, less than a
  // vector. kGuarded: keys that take no part are left out, whatever they hold.
  template <int kR, int kC, bool kGuarded, bool kPart>
  HWY_ATTR HWY_INLINE void add_columns(std::int64_t first_key, std::int64_t keys, std::int64_t r0,
                                       std::int64_t c) {
    const D dd;
    const DI di;
    float* const sums = o + r0 * o_width + c;
    Slot acc[kR][kC];
#pragma GCC unroll 4
    for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 16
      for (int v = 0; v < kC; ++v) acc[r][v] = hn::Load(dd, sums + r * o_width + v * lanes());
    }
    const T* from = value(first_key) + c;
    const float* const weights = s + r0 * kDecodeBlock;
    for (std::int64_t j = 0; j < keys; ++j, from += v_step) {
      Slot p[kR];
#pragma GCC unroll 4
      for (int r = 0; r < kR; ++r) p[r] = hn::Set(dd, weights[r * kDecodeBlock + j]);
#pragma GCC unroll 16
      for (int v = 0; v < kC; ++v) {
        const V x = kPart ? load_first(from, dv - c) : load_stored(from + v * lanes());
#pragma GCC unroll 4
        for (int r = 0; r < kR; ++r) {
          const V added = hn::MulAdd(p[r], x, acc[r][v]);
          if constexpr (kGuarded) {
            const auto none = hn::Eq(hn::BitCast(di, p[r]), hn::BitCast(di, hn::Set(dd, kNoPart)));
            acc[r][v] = hn::IfThenElse(hn::RebindMask(dd, none), acc[r][v], added);
          } else {
            acc[r][v] = added;
          }
        }
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 16
      for (int v = 0; v < kC; ++v) hn::Store(acc[r][v], dd, sums + r * o_width + v * lanes());
    }
  }

  template <int kR, int kC, bool kGuarded>
  HWY_ATTR void add_values(std::int64_t first_key, std::int64_t keys, std::int64_t r0, std::int64_t c = 0) {
    for (; c + kC * lanes() <= dv; c += kC * lanes()) {
      add_columns<kR, kC, kGuarded, false>(first_key, keys, r0, c);
    }
    if constexpr (kC > 1) {
      add_values<kR, fewer_columns(kC), kGuarded>(first_key, keys, r0, c);
    } else if (c < dv) {
      add_columns<kR, 1, kGuarded, true>(first_key, keys, r0, c);
    }
  }

  // Calls body(first row, how many) until all rows are done, `most` of them at a time while there are as
  // many.
  template <class Body>
  HWY_ATTR HWY_INLINE void by_rows(std::int64_t most, Body body) const {
    std::int64_t r = 0;
    for (; most >= 4 && r + 4 <= count; r += 4) body(r, std::integral_constant<int, 4>());
    for (; most >= 2 && r + 2 <= count; r += 2) body(r, std::integral_constant<int, 2>());
    for (; r < count; ++r) body(r, std::integral_constant<int, 1>());
  }

  HWY_ATTR void run(KeyRange range, float* out, RowNumbers* state) {
    start();
    const std::int64_t first_key = range.begin / kKeyStep * kKeyStep;
    const std::int64_t keys = range.end - first_key;
    for (std::int64_t j = 0; j < keys; j += kKeyStep) {
      by_rows(kMostRows, [&](std::int64_t r, auto n) HWY_ATTR { score<n.value>(first_key, j, keys - 1, r); });
    }
    bool holes = false;
    const auto scale_rows = [&](const void* all, std::int64_t stride) HWY_ATTR {
      gather_scales(static_cast<const float*>(all) + first_key * stride, stride, keys);
      for (std::int64_t r = 0; r < count; ++r) apply_scales(r, keys);
    };
    if constexpr (kScaled) scale_rows(stored.k, stored.k_stride);
    for (std::int64_t r = 0; r < count; ++r) {
      holes |= adjust(r, first_key, keys);
      state[r] = exponentials(r, keys);
    }
    if constexpr (kScaled) scale_rows(stored.v, stored.v_stride);
    // As many rows as leave room for whole values: what comes from memory is read in one go.
    by_rows(o_width == 0 ? 1 : kMostSums * lanes() / o_width, [&](std::int64_t r, auto n) HWY_ATTR {
      constexpr int kR = n.value, kC = std::min(8, kMostSums / kR);
      if (holes) {
        add_values<kR, kC, true>(first_key, keys, r);
      } else {
        add_values<kR, kC, false>(first_key, keys, r);
      }
    });
    for (std::int64_t r = 0; r < count; ++r) {
      std::copy(o + r * o_width, o + r * o_width + dv, out + r * dv);
    }
  }
};

HWY_ATTR void run_decode(const StoredKeys& stored, const DecodeRow* rows, std::int64_t count, KeyRange keys,
                         float* o, RowNumbers* state, float* scratch) {
  if (stored.int8_rows) return DecodePanel<std::int8_t>(stored, rows, count, scratch).run(keys, o, state);
  switch (stored.dtype) {
    case DType::bf16:
      return DecodePanel<bfloat16>(stored, rows, count, scratch).run(keys, o, state);
    case DType::f16:
      return DecodePanel<float16>(stored, rows, count, scratch).run(keys, o, state);
    default:
      return DecodePanel<float>(stored, rows, count, scratch).run(keys, o, state);
  }
}

HWY_ATTR std::int64_t decode_scratch(std::int64_t d, std::int64_t dv) {
  return kDecodeRows * (padded(d) + padded(dv) + kDecodeBlock) + kDecodeBlock;
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <cmath>

namespace attend::kernels {
namespace {

HWY_EXPORT(run_decode);
HWY_EXPORT(decode_scratch);

}  // namespace

std::int64_t scratch_size_decode(std::int64_t d, std::int64_t dv) noexcept {
  return HWY_DYNAMIC_DISPATCH(decode_scratch)(d, dv);
}

void attention_decode(const StoredKeys& stored, const DecodeRow* rows, std::int64_t count, KeyRange keys,
                      float* o, RowNumbers* state, float* scratch) noexcept {
  HWY_DYNAMIC_DISPATCH(run_decode)(stored, rows, count, keys, o, state, scratch);
}

void finish_decode(std::int64_t blocks, const float* o, std::int64_t o_stride, RowNumbers* state,
                   std::int64_t state_stride, float sink, std::int64_t dv, float* out,
                   RowNumbers& row) noexcept {
  const auto piece = [&](std::int64_t b) -> RowNumbers& { return state[b * state_stride]; };
  double max = sink;
  for (std::int64_t b = 0; b < blocks; ++b) {
    if (piece(b).sum != 0) max = std::max(max, piece(b).max);
  }
  double sum = sink == kMinusInfinity<float> ? 0 : std::exp(sink - max);
  for (std::int64_t b = 0; b < blocks; ++b) {
    // A piece without keys says nothing; asking first keeps -inf - -inf out of the exponentials.
    const double factor = piece(b).sum == 0 ? 0 : std::exp(piece(b).max - max);
    if (factor != 0 || piece(b).sum != 0) sum += factor * piece(b).sum;
    piece(b).max = factor;
  }
  constexpr std::int64_t kColumns = 16;
  for (std::int64_t c = 0; c < dv; c += kColumns) {
    const std::int64_t columns = std::min(kColumns, dv - c);
    double total[kColumns] = {};
    for (std::int64_t b = 0; b < blocks; ++b) {
      if (piece(b).sum == 0) continue;
      for (std::int64_t x = 0; x < columns; ++x) total[x] += piece(b).max * o[b * o_stride + c + x];
    }
    for (std::int64_t x = 0; x < columns; ++x) {
      out[c + x] = sum == 0 ? 0.0f : static_cast<float>(total[x] / sum);
    }
  }
  // A NaN score may have been passed over by the maximum, but never by the sum.
  row = {sum == sum ? max : sum, sum};
}

}  // namespace attend::kernels
#endif
