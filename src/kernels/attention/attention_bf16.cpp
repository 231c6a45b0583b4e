// How it works, for a tile of queries and a tile of keys, queries in vector lanes:
//
//   S^T = K Q^T          pairs along the head size: K is read in place, a pair broadcast to all lanes; Q^T is
//                        packed once a tile
//   P^T = exp(S^T - max) in fp32, then rounded to pairs of keys
//   O^T += V^T P^T       V is woven in pairs of keys, once for all tiles of queries
//
// Where tiles begin, what a lane sees of its neighbours and how the maximum is followed is as in
// attention_fused.cpp.
#include "kernels/attention/attention_bf16.h"

#include "kernels/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/attention_bf16.cpp"
#include <hwy/foreach_target.h>

#include "kernels/attention/score_tile-inl.h"
#include "kernels/simd/bf16_pairs-inl.h"
#include "kernels/simd/dropout-inl.h"

#if ATTEND_BF16_PAIRS
ATTEND_BEFORE_BF16();
namespace attend::kernels {
namespace HWY_NAMESPACE {

// How far the maximum may run ahead of the base, as in fp32.
constexpr float kPairSlack = 5;

static_assert(kWovenTile == kKeyTile && kRows % 2 == 0);

template <int kV>
struct PairTile {
  const HeadBf16& paired;
  const Head<float>& head;
  ScoreTile<kV> scores;
  const std::int64_t width = scores.width;
  const std::int64_t d_pairs = (head.d + 1) / 2;
  const bool drops = head.dropout.drops_any();
  float* const s = scores.s;
  std::int32_t* const q = reinterpret_cast<std::int32_t*>(scores.q);  // (d_pairs, width)
  float* const o;                                                     // (dv, width)
  float* const seen;                       // (kKeyTile, width): scores, kept where values are not finite
  std::int32_t* const p;                   // (kKeyTile / 2, width): exponentials in pairs of keys
  std::int32_t* const clean;               // (kKeyTile / 2, dv): values, 0 where they are not finite
  std::int64_t filled = 0;                 // rows of o that hold something: none before the first values
  std::int64_t tile_begin = 0, added = 0;  // keys of the tile whose values are in o already
  bool guarded = false;                    // whether this tile's values need a look at each lane
  Slot max[kV];                            // of the scores so far
  Slot base[kV];                           // what exponentials are relative to
  Slot sum[kV], tile_sum[kV];              // of exponentials
  Slot rounded_sum[kV], tile_rounded[kV];  // of what became of them in bf16

  static HWY_INLINE std::int64_t scratch_size(std::int64_t d, std::int64_t dv) {
    return ScoreTile<kV>::scratch_size(d) + (dv + kKeyTile + kKeyTile / 2) * kV * lanes() + kKeyTile / 2 * dv;
  }

  PairTile(const HeadBf16& h, std::int64_t first_row, std::int64_t rows, float* scratch)
      : paired(h),
        head(h.head),
        scores(h.head, first_row, rows, scratch),
        o(scratch + ScoreTile<kV>::scratch_size(h.head.d)),
        seen(o + h.head.dv * width),
        p(reinterpret_cast<std::int32_t*>(seen + kKeyTile * width)),
        clean(p + kKeyTile / 2 * width) {}

  const std::int32_t* values() const { return guarded ? clean : paired.v.pairs + tile_begin / 2 * head.dv; }

  // A lane that has seen no key yet has base -inf and takes 0 for it, so that -inf - -inf never arises.
  static HWY_INLINE V shift(V x) {
    return hn::IfThenZeroElse(hn::Eq(x, hn::Set(D(), kMinusInfinity<float>)), x);
  }

  // A block of scores becomes exponentials and joins the sums: in fp32 for the state of the row, and as
  // rounded for the output, which is then a true mean of values.
  template <int kR>
  HWY_INLINE void absorb(std::int64_t j, const Slot (&score)[kR][kV]) {
    const D d;
    const DI di;
    Slot largest[kV];
    bool outgrown = false;
#pragma GCC unroll 3
    for (int v = 0; v < kV; ++v) {
      V most = score[0][v];
#pragma GCC unroll 8
      for (int r = 1; r < kR; ++r) most = hn::Max(most, score[r][v]);
      outgrown |= !hn::AllFalse(d, hn::Gt(most, hn::Add(base[v], hn::Set(d, kPairSlack))));
      max[v] = hn::Max(max[v], most);
      largest[v] = most;
    }
    if (HWY_UNLIKELY(outgrown)) {
      add_values(j);
      for (int v = 0; v < kV; ++v) raise_base(v, largest[v]);
    }
    const Pairs ones = same_pair(0x3f803f80);
#pragma GCC unroll 3
    for (int v = 0; v < kV; ++v) {
      const V from = shift(base[v]);
      Slot x[kR];
#pragma GCC unroll 8
      for (int r = 0; r < kR; ++r) x[r] = exponential(hn::Sub(score[r][v], from));
      if (HWY_UNLIKELY(drops)) {
        for (int r = 0; r < kR; ++r) hn::Store(x[r], d, s + (j + r) * width + v * lanes());
      }
#pragma GCC unroll 4
      for (int r = 0; r < kR; r += 2) {
        const Pairs pair = woven(x[r], r + 1 < kR ? V(x[r + 1 < kR ? r + 1 : r]) : hn::Zero(d));
        hn::Store(pair, di, p + (j + r) / 2 * width + v * lanes());
        tile_rounded[v] = dot_pairs(tile_rounded[v], pair, ones);
      }
      // A tree with fixed places: rows that a shorter block lacks would have added 0.
#pragma GCC unroll 3
      for (int half = 4; half > 0; half /= 2) {
#pragma GCC unroll 4
        for (int r = 0; r < half; ++r) {
          if (r + half < kR) x[r] = hn::Add(x[r], x[r + half]);
        }
      }
      tile_sum[v] = hn::Add(tile_sum[v], x[0]);
    }
  }

  // Lanes whose maximum ran ahead take it as their base; the others are multiplied by exactly 1. Exponentials
  // that were made before are in o by now: rounded, they could not be rescaled without another rounding.
  HWY_NOINLINE void raise_base(int v, V largest) {
    const D d;
    const auto ahead = hn::Gt(largest, hn::Add(base[v], hn::Set(d, kPairSlack)));
    const V now = hn::IfThenElse(ahead, largest, base[v]);
    const V factor = exponential(hn::Sub(base[v], shift(now)));
    const V change = hn::IfThenElse(ahead, factor, hn::Set(d, 1.0f));
    for (std::int64_t c = 0; c < filled; ++c) {
      float* const row = o + c * width + v * lanes();
      hn::Store(hn::Mul(hn::Load(d, row), change), d, row);
    }
    for (Slot* const total : {sum, tile_sum, rounded_sum, tile_rounded}) {
      total[v] = hn::Mul(total[v], change);
    }
    base[v] = now;
  }

  // The values of the tile's keys before `until`, with the weights that they have.
  HWY_NOINLINE void add_values(std::int64_t until) {
    if (added == until) return;
    if (drops) drop(until);
    const auto* const v = reinterpret_cast<const std::uint16_t*>(values() + added / 2 * head.dv);
    const std::int32_t* const weights = p + added / 2 * width;
    const std::int64_t pairs = (until - added + 1) / 2;
    if (filled == 0) {
      product_of_pairs<kV, false>(head.dv, pairs, v, 2, 2 * head.dv, weights, o, width);
      filled = head.dv;
    } else {
      product_of_pairs<kV, true>(head.dv, pairs, v, 2, 2 * head.dv, weights, o, width);
    }
    if (guarded) add_not_finite(until);
    added = until;
  }

  void drop(std::int64_t until) {
    const D d;
    drop_weights<kV>(head.dropout, scores.first, tile_begin + added, until - added, s + added * width);
    for (std::int64_t j = added; j < until; j += 2) {
      for (std::int64_t v = 0; v < width; v += lanes()) {
        const float* const at = s + j * width + v;
        const V second = j + 1 < until ? hn::Load(d, at + width) : hn::Zero(d);
        hn::Store(woven(hn::Load(d, at), second), DI(), p + j / 2 * width + v);
      }
    }
  }

  // Masked values may be NaN or infinite, and 0 x NaN is NaN. Such values are left out of the product and
  // added lane by lane, where their key takes part.
  HWY_NOINLINE void add_not_finite(std::int64_t until) {
    const D d;
    const V minus_infinity = hn::Set(d, kMinusInfinity<float>);
    const auto* const from =
        reinterpret_cast<const std::uint16_t*>(paired.v.pairs + tile_begin / 2 * head.dv);
    for (std::int64_t j = added; j < until; ++j) {
      for (std::int64_t c = 0; c < head.dv; ++c) {
        const std::uint32_t bits = from[(j / 2 * head.dv + c) * 2 + j % 2];
        if (finite(bits)) continue;
        const V value = hn::BitCast(d, hn::Set(DI(), static_cast<std::int32_t>(bits << 16)));
        for (std::int64_t v = 0; v < width; v += lanes()) {
          const Pairs pair = hn::Load(DI(), p + j / 2 * width + v);
          const V weight = j % 2 == 0 ? first_of(pair) : second_of(pair);
          const auto unseen = hn::Eq(hn::Load(d, seen + j * width + v), minus_infinity);
          float* const at = o + c * width + v;
          const V total = hn::Load(d, at);
          hn::Store(hn::IfThenElse(unseen, total, hn::MulAdd(weight, value, total)), d, at);
        }
      }
    }
  }

  static bool finite(std::uint32_t bits) { return (bits & 0x7f80u) != 0x7f80u; }

  // `masked`: whether a key may take no part for some query. An odd number of keys leaves the last pair's
  // second value without a weight.
  void guard(std::int64_t n, bool masked) {
    guarded = (masked || n % 2 != 0) && paired.v.finite[tile_begin / kWovenTile] == 0;
    if (!guarded) return;
    const auto* const from =
        reinterpret_cast<const std::uint16_t*>(paired.v.pairs + tile_begin / 2 * head.dv);
    auto* const to = reinterpret_cast<std::uint16_t*>(clean);
    for (std::int64_t i = 0; i < (n + 1) / 2 * 2 * head.dv; ++i) {
      to[i] = finite(from[i]) ? from[i] : std::uint16_t{0};
    }
  }

  template <int kR>
  HWY_INLINE void make_scores(Slot (&acc)[kR][kV], std::int64_t j) {
    const V scale = hn::Set(D(), head.scale);
    clear_block(acc);
    accumulate_pairs(acc, d_pairs, paired.k + (tile_begin + j) * paired.k_stride, paired.k_stride, 2, q,
                     width);
#pragma GCC unroll 8
    for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < kV; ++v) acc[r][v] = hn::Mul(acc[r][v], scale);
    }
  }

  void plain_tile(std::int64_t n) {
    guard(n, false);
    if (guarded) std::fill_n(seen, n * width, 0.0f);
    for_each_block(n, [&]<int kR>(std::int64_t j) ATTEND_BF16_ATTR {
      Slot acc[kR][kV];
      make_scores(acc, j);
      absorb(j, acc);
    });
  }

  void tile_with_options(std::int64_t n) {
    for_each_block(n, [&]<int kR>(std::int64_t j) ATTEND_BF16_ATTR {
      Slot acc[kR][kV];
      make_scores(acc, j);
      store_block(acc, s + j * width, width);
    });
    guard(n, scores.apply_options(tile_begin, n));
    if (guarded) std::copy_n(s, n * width, seen);
    for_each_block(n, [&]<int kR>(std::int64_t j) ATTEND_BF16_ATTR {
      Slot score[kR][kV];
      load_block(score, s + j * width, width);
      absorb(j, score);
    });
  }

  void key_tile(std::int64_t first_key, std::int64_t n) {
    tile_begin = first_key;
    added = 0;
    for (int v = 0; v < kV; ++v) tile_sum[v] = tile_rounded[v] = hn::Zero(D());
    if (scores.plain(first_key, n)) {
      plain_tile(n);
    } else {
      tile_with_options(n);
    }
    add_values(n);
    for (int v = 0; v < kV; ++v) {
      sum[v] = hn::Add(sum[v], tile_sum[v]);
      rounded_sum[v] = hn::Add(rounded_sum[v], tile_rounded[v]);
    }
  }

  void finish(const HeadOutput<float>& output) {
    const D d;
    if (filled == 0) std::fill_n(o, head.dv * width, 0.0f);
    float* const state_max = seen;  // no longer needed for scores
    float* const state_sum = seen + width;
    float* const inverses = seen + 2 * width;
    for (int v = 0; v < kV; ++v) {
      const V inverse =
          hn::IfThenZeroElse(hn::Eq(sum[v], hn::Zero(d)), hn::Div(hn::Set(d, head.kept), rounded_sum[v]));
      hn::Store(inverse, d, inverses + v * lanes());
      // The state is that of the row's own maximum, whatever base it was summed with. A NaN score may have
      // been passed over by the maximum, but never by the sum.
      const V whole = hn::Mul(sum[v], exponential(hn::Sub(base[v], shift(max[v]))));
      hn::Store(hn::IfThenElse(hn::Eq(sum[v], sum[v]), max[v], sum[v]), d, state_max + v * lanes());
      hn::Store(whole, d, state_sum + v * lanes());
    }
    columns_to_rows(o, width, scores.count, head.dv, output.out, output.out_stride, inverses);
    for (std::int64_t i = 0; i < scores.count; ++i) {
      output.set_state(i, state_max[i], state_sum[i]);
    }
  }

  void run(const HeadOutput<float>& output) {
    const D d;
    for (int v = 0; v < kV; ++v) {
      max[v] = base[v] = hn::Set(d, head.sink);
      sum[v] = rounded_sum[v] = head.sink == kMinusInfinity<float> ? hn::Zero(d) : hn::Set(d, 1.0f);
    }
    const KeyRange keys = scores.keys();
    if (keys.begin < keys.end) {
      pairs_to_columns(paired.q + scores.first * paired.q_stride, paired.q_stride, scores.count, d_pairs, q,
                       width);
    }
    for (std::int64_t key = keys.begin; key < keys.end;) {
      const std::int64_t next = scores.next_tile(key, keys.end);
      key_tile(key, next - key);
      key = next;
    }
    finish(output);
  }
};

template <int kV>
void run_pair_tile(const HeadBf16& head, std::int64_t first, std::int64_t last,
                   const HeadOutput<float>& output, float* scratch) {
  if constexpr (kV > 1) {
    if (last - first <= (kV - 1) * lanes()) return run_pair_tile<kV - 1>(head, first, last, output, scratch);
  }
  PairTile<kV>(head, first, last - first, scratch).run(output);
}

std::int64_t pair_tile_queries() { return tile_queries(); }
std::int64_t pair_scratch_size(std::int64_t d, std::int64_t dv) {
  return PairTile<kVectors>::scratch_size(d, dv);
}

// kWovenTile rows or fewer: two rows at a time, 16 columns of each in one vector.
bool weave(const std::uint16_t* values, std::int64_t stride, std::int64_t keys, std::int64_t dv,
           std::int32_t* pairs) {
  const __m512i exponent = _mm512_set1_epi16(0x7f80);
  __mmask32 wrong = 0;
  for (std::int64_t j = 0; j < keys; j += 2) {
    const std::uint16_t* const first = values + j * stride;
    for (std::int64_t c = 0; c < dv; c += kLanes) {
      const auto there = static_cast<__mmask16>((1u << std::min<std::int64_t>(kLanes, dv - c)) - 1);
      const __mmask16 second = j + 1 < keys ? there : __mmask16{0};
      const __m512i both =
          _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_maskz_loadu_epi16(there, first + c)),
                             _mm256_maskz_loadu_epi16(second, second == 0 ? first : first + stride + c), 1);
      wrong |= _mm512_cmpeq_epi16_mask(_mm512_and_si512(both, exponent), exponent);
      _mm512_mask_storeu_epi32(pairs + j / 2 * dv + c, there, woven_halves(both).raw);
    }
  }
  return wrong == 0;
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
ATTEND_AFTER_BF16();
#endif  // ATTEND_BF16_PAIRS

#if HWY_ONCE
namespace attend::kernels {

#if HWY_TARGETS & (HWY_AVX3 | HWY_AVX3_DL)
#if HWY_TARGETS & HWY_AVX3
namespace bf16_set = N_AVX3;
#else
namespace bf16_set = N_AVX3_DL;
#endif

bool has_attention_bf16() noexcept { return has_extension(Extension::avx512_bf16); }

bool weave_values(const std::uint16_t* values, std::int64_t stride, std::int64_t keys, std::int64_t dv,
                  std::int32_t* pairs) noexcept {
  return bf16_set::weave(values, stride, keys, dv, pairs);
}

std::int64_t bf16_tile_queries() noexcept { return bf16_set::pair_tile_queries(); }

std::int64_t scratch_size_bf16(std::int64_t d, std::int64_t dv) noexcept {
  return bf16_set::pair_scratch_size(d, dv);
}

void attention_bf16(const HeadBf16& head, std::int64_t first, std::int64_t last,
                    const HeadOutput<float>& output, float* scratch) noexcept {
  bf16_set::run_pair_tile<bf16_set::kVectors>(head, first, last, output, scratch);
}

#else

bool has_attention_bf16() noexcept { return false; }
bool weave_values(const std::uint16_t*, std::int64_t, std::int64_t, std::int64_t, std::int32_t*) noexcept {
  return true;
}
std::int64_t bf16_tile_queries() noexcept { return 1; }
std::int64_t scratch_size_bf16(std::int64_t, std::int64_t) noexcept { return 0; }
void attention_bf16(const HeadBf16&, std::int64_t, std::int64_t, const HeadOutput<float>&, float*) noexcept {}

#endif

}  // namespace attend::kernels
#endif
