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

#include "kernels/attention/pair_scores-inl.h"
#include "kernels/attention/rounded_tile-inl.h"
#include "kernels/simd/power_of_two-inl.h"

#if ATTEND_BF16_PAIRS
ATTEND_BEFORE_BF16();
namespace attend::kernels {
namespace HWY_NAMESPACE {

static_assert(kWovenTile == kKeyTile && kRows % 2 == 0);

template <int kV>
struct PairTile : RoundedTile<kV, PairScores<kV>, WovenTile<kV>> {
  using Base = RoundedTile<kV, PairScores<kV>, WovenTile<kV>>;
  using Base::scores, Base::values, Base::sums, Base::width, Base::s, Base::p, Base::o;
  static constexpr float kLog2E = 1.44269504F;
  std::int64_t added = 0;  // keys of the tile whose values are in o already

  static std::int64_t scratch_size(std::int64_t d, std::int64_t dv) {
    return PairScores<kV>::scratch_size(d) + Base::shared_size(dv) + Base::own_size(dv);
  }

  PairTile(const HeadBf16& h, const Woven& v, std::int64_t first_row, std::int64_t rows, bool wants_state,
           float* scratch)
      : Base(PairScores<kV>(h, first_row, rows, scratch), h.head, v, wants_state,
             scratch + PairScores<kV>::scratch_size(h.head.d),
             scratch + PairScores<kV>::scratch_size(h.head.d) + Base::shared_size(h.head.dv)) {}

  // A block of scores becomes exponentials and joins the sums: as rounded for the output, which is then a
  // true mean of values, and so made to few digits; in fp32 for the state of the row, where that is wanted.
  template <int kR>
  HWY_INLINE void absorb(std::int64_t j, const Slot (&score)[kR][kV]) {
    const D d;
    Slot largest[kV];
    if (HWY_UNLIKELY(sums.outgrown(score, largest))) {
      add_values(j);
      for (int v = 0; v < kV; ++v) this->raise_base(v, largest[v]);
    }
#pragma GCC unroll 3
    for (int v = 0; v < kV; ++v) {
      const V from = sums.shift(sums.base[v]);
      Slot x[kR];
#pragma GCC unroll 8
      for (int r = 0; r < kR; ++r)
        x[r] = short_power_of_two(hn::Mul(hn::Sub(score[r][v], from), hn::Set(d, kLog2E)));
      if (HWY_UNLIKELY(this->drops)) {
        for (int r = 0; r < kR; ++r) hn::Store(x[r], d, s + (j + r) * width + v * lanes());
      }
      Slot rounded = this->tile_rounded[v];
#pragma GCC unroll 4
      for (int r = 0; r < kR; r += 2) {
        const V second = r + 1 < kR ? V(x[r + 1 < kR ? r + 1 : r]) : hn::Zero(d);
        this->keep_pair(x[r], second, p + (j + r) / 2 * width + v * lanes(), rounded);
      }
      this->tile_rounded[v] = rounded;
      if (HWY_LIKELY(!this->keeps_state)) continue;
#pragma GCC unroll 8
      for (int r = 0; r < kR; ++r) x[r] = exponential(hn::Sub(score[r][v], from));
      sums.add(v, x);
    }
  }

  // The values of the tile's keys before `until`, with the weights that they have.
  HWY_NOINLINE void add_values(std::int64_t until) {
    if (added == until) return;
    if (this->drops) this->drop(values.tile_begin + added, added, until - added);
    if (this->filled == 0) {
      values.template multiply<kV, false>(added, until, p, o);
      this->filled = values.columns;
    } else {
      values.template multiply<kV, true>(added, until, p, o);
    }
    if (values.guarded) values.add_not_finite(added, until, p, this->seen, o);
    added = until;
  }

  void plain_tile(std::int64_t first_key, std::int64_t n) {
    values.begin(first_key, n, false);
    if (values.guarded) std::fill_n(this->seen, n * width, 0.0f);
    for_each_block(n, [&]<int kR>(std::int64_t j) ATTEND_BF16_ATTR {
      Slot acc[kR][kV];
      scores.make_block(acc, first_key + j);
      absorb(j, acc);
    });
  }

  void tile_with_options(std::int64_t first_key, std::int64_t n) {
    values.begin(first_key, n, scores.make(first_key, n));
    if (values.guarded) std::copy_n(s, n * width, this->seen);
    for_each_block(n, [&]<int kR>(std::int64_t j) ATTEND_BF16_ATTR {
      Slot score[kR][kV];
      load_block(score, s + j * width, width);
      absorb(j, score);
    });
  }

  void key_tile(std::int64_t first_key, std::int64_t n) {
    added = 0;
    this->begin_sums();
    scores.plain(first_key, n) ? plain_tile(first_key, n) : tile_with_options(first_key, n);
    add_values(n);
    this->end_sums();
  }

  void run(const HeadOutput<float>& output) {
    this->begin();
    const KeyRange keys = scores.keys();
    if (keys.begin < keys.end) scores.pack_queries();
    for (std::int64_t key = keys.begin; key < keys.end;) {
      const std::int64_t next = scores.next_tile(key, keys.end);
      key_tile(key, next - key);
      key = next;
    }
    this->finish(output);
  }
};

template <int kV>
void run_pair_tile(const HeadBf16& head, const Woven& values, std::int64_t first, std::int64_t last,
                   const HeadOutput<float>& output, float* scratch) {
  if constexpr (kV > 1) {
    if (last - first <= (kV - 1) * lanes())
      return run_pair_tile<kV - 1>(head, values, first, last, output, scratch);
  }
  PairTile<kV>(head, values, first, last - first, output.max != nullptr, scratch).run(output);
}

std::int64_t pair_tile_queries() { return tile_queries(); }
std::int64_t pair_scratch_size(std::int64_t d, std::int64_t dv) {
  return PairTile<kVectors>::scratch_size(d, dv);
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
ATTEND_AFTER_BF16();
#endif  // ATTEND_BF16_PAIRS

#if HWY_ONCE
namespace attend::kernels {

#if HWY_TARGETS & ATTEND_BF16_TARGETS

bool has_attention_bf16() noexcept { return has_extension(Extension::avx512_bf16); }

bool weave(const std::uint16_t* rows, std::int64_t stride, std::int64_t count, std::int64_t n,
           std::int32_t* pairs) noexcept {
  return bf16_set::weave_rows(rows, stride, count, n, pairs, n);
}

std::int64_t bf16_tile_queries() noexcept { return bf16_set::pair_tile_queries(); }

std::int64_t scratch_size_bf16(std::int64_t d, std::int64_t dv) noexcept {
  return bf16_set::pair_scratch_size(d, dv);
}

void attention_bf16(const HeadBf16& head, const Woven& values, std::int64_t first, std::int64_t last,
                    const HeadOutput<float>& output, float* scratch) noexcept {
  bf16_set::run_pair_tile<bf16_set::kVectors>(head, values, first, last, output, scratch);
}

#else

bool has_attention_bf16() noexcept { return false; }
bool weave(const std::uint16_t*, std::int64_t, std::int64_t, std::int64_t, std::int32_t*) noexcept {
  return true;
}
std::int64_t bf16_tile_queries() noexcept { return 1; }
std::int64_t scratch_size_bf16(std::int64_t, std::int64_t) noexcept { return 0; }
void attention_bf16(const HeadBf16&, const Woven&, std::int64_t, std::int64_t, const HeadOutput<float>&,
                    float*) noexcept {}

#endif

}  // namespace attend::kernels
#endif
