// How it works, for a tile of queries and a tile of keys, queries in vector lanes:
//
//   S^T = K Q^T          K is read in place, 16 keys the rows of a tile of AMX; Q^T is packed once
//   P^T = 2^(c S^T - b)  in fp32, then rounded to pairs of keys, as the next product takes them
//   O^T += V^T P^T       V is turned once for all tiles of queries: 32 keys of a column side by side
//
// The largest score of a lot of keys is known before their first exponential, so that nothing that was made
// has to be made again. Several tiles of queries take turns with each lot of keys: it comes from the second
// or third cache once for all of them.
#include "kernels/attention/attention_amx.h"

#include <optional>

#include "kernels/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/attention_amx.cpp"
#include <hwy/foreach_target.h>

#include "kernels/attention/amx_scores-inl.h"
#include "kernels/attention/amx_values-inl.h"
#include "kernels/attention/rounded_tile-inl.h"
#include "kernels/simd/power_of_two-inl.h"

#if ATTEND_AMX
ATTEND_BEFORE_AMX();
namespace attend::kernels {
namespace HWY_NAMESPACE {

static_assert(kWovenTile == kKeyTile);

// Tiles of queries that take turns at most.
constexpr int kAmxTurns = 4;

// Keys whose exponentials are made together; lots begin at multiples of it.
constexpr std::int64_t kAmxLot = 128;
static_assert(kKeyTile % kAmxLot == 0 && kAmxLot % kAmxKeys == 0);

template <int kV>
struct AmxTile : RoundedTile<kV, AmxScores<kV>, WovenTile<kV, TilesOfRows>> {
  using Scores = AmxScores<kV>;
  using Base = RoundedTile<kV, Scores, WovenTile<kV, TilesOfRows>>;
  using Base::scores, Base::values, Base::sums, Base::width, Base::s, Base::p, Base::o;
  static constexpr float kLog2E = 1.44269504F;
  static constexpr int kTogether = 8;  // keys whose exponentials are made side by side

  const float factor = scores.unscaled ? this->head.scale : 1.0F;  // of stored scores
  Slot times[kV], less[kV];  // what makes of a stored score the power of two that it is raised to

  // Memory that tiles which take turns share, and what each needs for itself.
  static std::int64_t shared_size(std::int64_t d, std::int64_t dv) {
    return Scores::shared_size(d) + Base::shared_size(dv);
  }
  static std::int64_t own_size(std::int64_t d, std::int64_t dv) {
    return Scores::own_size(d) + Base::own_size(dv);
  }

  AmxTile(const HeadBf16& h, const Woven& v, std::int64_t first_row, std::int64_t rows, bool wants_state,
          float* shared, float* own)
      : Base(Scores(h, first_row, rows, shared, own), h.head, v, wants_state,
             shared + Scores::shared_size(h.head.d), own + Scores::own_size(h.head.d)) {
    this->begin();
    const KeyRange keys = scores.keys();
    if (keys.begin < keys.end) scores.pack_queries();
  }

  // The largest score of n keys in each lane of a vector.
  HWY_INLINE V largest_of(const float* column, std::int64_t n) const {
    const D d;
    Slot most[4];
    for (int u = 0; u < 4; ++u) most[u] = hn::Load(d, column + u * width);
    for (std::int64_t j = 4; j < n; j += 4) {
#pragma GCC unroll 4
      for (int u = 0; u < 4; ++u) most[u] = hn::Max(most[u], hn::Load(d, column + (j + u) * width));
    }
    const V all = hn::Max(hn::Max(most[0], most[1]), hn::Max(most[2], most[3]));
    return hn::Mul(all, hn::Set(d, factor));
  }

  // Follows the maximum. A base that is large loses digits where it is multiplied with log2 e: there the
  // difference is taken first.
  HWY_INLINE void follow(int v, std::int64_t n) {
    const D d;
    const V largest = largest_of(s + v * lanes(), n);
    if (HWY_UNLIKELY(sums.outgrown_by(v, largest))) this->raise_base(v, largest);
    const V base = sums.shift(sums.base[v]), log2e = hn::Set(d, kLog2E);
    times[v] = hn::Mul(hn::Set(d, factor), log2e);
    less[v] = hn::Mul(base, log2e);
    const auto large = hn::Not(hn::Lt(hn::Abs(base), hn::Set(d, 256.0F)));
    if (HWY_UNLIKELY(!hn::AllFalse(d, large))) subtract_first(v, n, large, base);
  }

  HWY_NOINLINE void subtract_first(int v, std::int64_t n, hn::Mask<D> where, V base) {
    const D d;
    for (std::int64_t j = 0; j < n; ++j) {
      float* const at = s + j * width + v * lanes();
      const V score = hn::Load(d, at);
      hn::Store(hn::IfThenElse(where, hn::MulSub(score, hn::Set(d, factor), base), score), d, at);
    }
    times[v] = hn::IfThenElse(where, hn::Set(d, kLog2E), times[v]);
    less[v] = hn::IfThenZeroElse(where, V(less[v]));
  }

  // The stored scores of n keys become weights and join the sums. Weights are rounded next, so they are made
  // to few digits; the sum of the row state is made of exponentials of its own, where it is wanted.
  template <bool kState>
  HWY_INLINE void exponentiate(int v, std::int64_t n) {
    const D d;
    float* const column = s + v * lanes();
    std::int32_t* const pairs = p + v * lanes();
    const V by = times[v], from = less[v];
    Slot sum = sums.tile_sum[v], rounded = this->tile_rounded[v];
    for (std::int64_t j = 0; j < n; j += kTogether) {
      Slot x[kTogether], exact[kTogether];
#pragma GCC unroll 8
      for (int r = 0; r < kTogether; ++r) {
        const V power = hn::MulSub(hn::Load(d, column + (j + r) * width), by, from);
        x[r] = short_power_of_two(power);
        if constexpr (kState) exact[r] = power_of_two(power);
      }
      if (HWY_UNLIKELY(this->drops)) {
        for (int r = 0; r < kTogether; ++r) hn::Store(x[r], d, column + (j + r) * width);
      }
#pragma GCC unroll 4
      for (int r = 0; r < kTogether; r += 2)
        this->keep_pair(x[r], x[r + 1], pairs + (j + r) / 2 * width, rounded);
      if constexpr (kState) sum = hn::Add(sum, sums.sum_of(exact));
    }
    sums.tile_sum[v] = sum;
    this->tile_rounded[v] = rounded;
  }

  // All that this tile has to do with keys [lot.begin, lot.end), which lie in one lot.
  void key_lot(KeyRange lot) {
    const KeyRange seen = scores.keys();
    const std::int64_t key = std::max(lot.begin, seen.begin), keys = std::min(lot.end, seen.end) - key;
    if (keys <= 0) return;
    values.begin(key, keys, scores.make_unscaled(key, keys));
    if (values.guarded) std::copy_n(s, keys * width, this->seen);
    const std::int64_t n = (keys + kAmxKeys - 1) / kAmxKeys * kAmxKeys;
    this->begin_sums();
    for (int v = 0; v < kV; ++v) {
      follow(v, n);
      this->keeps_state ? exponentiate<true>(v, n) : exponentiate<false>(v, n);
    }
    this->end_sums();
    if (this->drops) this->drop(key, 0, n);
    const AmxProduct<kV> product{n, values.rows(), values.columns, p, o};
    this->filled == 0 ? product.template run<false>() : product.template run<true>();
    this->filled = values.columns;
    if (values.guarded) values.add_not_finite(0, keys, p, this->seen, o);
  }
};

// Rows [first, last) as tiles of kV vectors that take turns.
template <int kV, int kMost>
void run_amx_tiles(const HeadBf16& head, const Woven& values, std::int64_t first, std::int64_t last,
                   const HeadOutput<float>& output, float* scratch) {
  using Tile = AmxTile<kV>;
  const std::int64_t own = Tile::own_size(head.head.d, head.head.dv);
  float* memory = scratch + Tile::shared_size(head.head.d, head.head.dv);
  std::optional<Tile> tiles[kMost];
  KeyRange keys{head.head.keys, 0};
  for (int t = 0; t < kMost; ++t, memory += own) {
    const std::int64_t row = first + t * Tile::width;
    if (row >= last) break;
    tiles[t].emplace(head, values, row, std::min(Tile::width, last - row), output.max != nullptr, scratch,
                     memory);
    const KeyRange seen = tiles[t]->scores.keys();
    keys = {std::min(keys.begin, seen.begin), std::max(keys.end, seen.end)};
  }
  for (std::int64_t key = keys.begin; key < keys.end;) {
    const std::int64_t next = std::min((key / kAmxLot + 1) * kAmxLot, keys.end);
    for (int t = 0; t < kMost; ++t) {
      if (tiles[t]) tiles[t]->key_lot({key, next});
    }
    key = next;
  }
  for (int t = 0; t < kMost; ++t) {
    if (!tiles[t]) break;
    const std::int64_t row = t * Tile::width;
    HeadOutput<float> part = output;
    part.out += row * output.out_stride;
    if (output.max != nullptr) {
      part.max += row * output.max_stride;
      part.sum += row * output.sum_stride;
    }
    tiles[t]->finish(part);
  }
}

void run_amx(const HeadBf16& head, const Woven& values, std::int64_t first, std::int64_t last,
             const HeadOutput<float>& output, float* scratch) {
  const TileScope tiles;
  if (last - first <= kTileRows) return run_amx_tiles<1, 1>(head, values, first, last, output, scratch);
  run_amx_tiles<kAmxVectors, kAmxTurns>(head, values, first, last, output, scratch);
}

std::int64_t amx_scratch_size(std::int64_t d, std::int64_t dv) {
  using Tile = AmxTile<kAmxVectors>;
  return Tile::shared_size(d, dv) + kAmxTurns * Tile::own_size(d, dv);
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
ATTEND_AFTER_AMX();
#endif  // ATTEND_AMX

#if HWY_ONCE
namespace attend::kernels {

#if HWY_TARGETS & ATTEND_BF16_TARGETS && defined(__x86_64__)

bool has_attention_amx() noexcept { return has_extension(Extension::amx); }

std::int64_t amx_columns(std::int64_t n) noexcept { return bf16_set::TilesOfRows::columns_for(n); }
bool weave_amx(const std::uint16_t* rows, std::int64_t stride, std::int64_t count, std::int64_t n,
               std::int32_t* tiles) noexcept {
  return bf16_set::weave_tiles(rows, stride, count, n, tiles);
}

std::int64_t amx_tile_queries() noexcept { return bf16_set::kAmxVectors * bf16_set::kTileRows; }
std::int64_t amx_most_queries() noexcept { return bf16_set::kAmxTurns * amx_tile_queries(); }

std::int64_t scratch_size_amx(std::int64_t d, std::int64_t dv) noexcept {
  return bf16_set::amx_scratch_size(d, dv);
}

void attention_amx(const HeadBf16& head, const Woven& values, std::int64_t first, std::int64_t last,
                   const HeadOutput<float>& output, float* scratch) noexcept {
  bf16_set::run_amx(head, values, first, last, output, scratch);
}

#else

bool has_attention_amx() noexcept { return false; }
std::int64_t amx_columns(std::int64_t n) noexcept { return n; }
bool weave_amx(const std::uint16_t*, std::int64_t, std::int64_t, std::int64_t, std::int32_t*) noexcept {
  return true;
}
std::int64_t amx_tile_queries() noexcept { return 1; }
std::int64_t amx_most_queries() noexcept { return 1; }
std::int64_t scratch_size_amx(std::int64_t, std::int64_t) noexcept { return 0; }
void attention_amx(const HeadBf16&, const Woven&, std::int64_t, std::int64_t, const HeadOutput<float>&,
                   float*) noexcept {}

#endif

}  // namespace attend::kernels
#endif
