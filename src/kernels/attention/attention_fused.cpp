// How it works, for a tile of queries and a tile of keys, queries in vector lanes:
//
//   S^T = K Q^T          (keys, queries)  score_tile-inl.h
//   P^T = exp(S^T - max)                  max, sum and exp are vertical: no lane ever looks at another
//   O^T += V^T P^T       (dv, queries)    V is read in place, one element broadcast to all lanes
//
// Key tiles start at multiples of kKeyTile, so a row's bits depend on its own sequence only.
#include "kernels/attention/attention_fused.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/attention_fused.cpp"
#include <hwy/foreach_target.h>

#include <optional>

#include "kernels/attention/running_sums-inl.h"
#include "kernels/attention/score_tile-inl.h"
#include "kernels/simd/dropout-inl.h"
#include "kernels/simd/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

template <int kV>
struct Tile {
  const Head<float>& head;
  ScoreTile<kV> scores;
  const std::int64_t width = scores.width;
  float* const s = scores.s;
  float* const o;           // (dv, width)
  float* const seen;        // (kKeyTile, width): scores, kept where masked values are not finite
  std::int64_t filled = 0;  // rows of o that hold something: none before the first tile of keys
  RunningSums<kV> sums;

  // What a tile keeps from one tile of keys to the next, and what tiles that take turns can share.
  static HWY_INLINE std::int64_t own_size(std::int64_t d, std::int64_t dv) { return (d + dv) * kV * lanes(); }
  static HWY_INLINE std::int64_t shared_size() { return 3 * kKeyTile * kV * lanes(); }

  HWY_ATTR Tile(const Head<float>& h, std::int64_t first_row, std::int64_t rows, float* shared, float* own)
      : head(h),
        scores(h, first_row, rows, own, shared),
        o(own + h.d * width),
        seen(shared + 2 * kKeyTile * width) {}

  // A block of scores becomes exponentials in s and joins the sums.
  template <int kR>
  HWY_ATTR HWY_INLINE void absorb(std::int64_t j, const Slot (&score)[kR][kV]) {
    Slot largest[kV];
    if (HWY_UNLIKELY(sums.outgrown(score, largest))) {
      for (int v = 0; v < kV; ++v) raise_base(v, largest[v], j);
    }
#pragma GCC unroll 3
    for (int v = 0; v < kV; ++v) {
      const V from = sums.shift(sums.base[v]);
      Slot p[kR];
#pragma GCC unroll 8
      for (int r = 0; r < kR; ++r) {
        p[r] = exponential(hn::Sub(score[r][v], from));
        hn::Store(p[r], D(), s + (j + r) * width + v * lanes());
      }
      sums.add(v, p);
    }
  }

  // `done` keys of the tile are exponentials already.
  HWY_ATTR HWY_NOINLINE void raise_base(int v, V largest, std::int64_t done) {
    const V change = sums.raise(v, largest);
    const auto rescale = [&](float* row) HWY_ATTR {
      const D d;
      hn::Store(hn::Mul(hn::Load(d, row + v * lanes()), change), d, row + v * lanes());
    };
    for (std::int64_t c = 0; c < filled; ++c) rescale(o + c * width);
    for (std::int64_t j = 0; j < done; ++j) rescale(s + j * width);
  }

  // The same for a whole tile of stored scores, where registers are too few to hold a block of scores and
  // what its exponentials take (on AVX2 6 cycles a vector instead of 7.5): the maximum is found first, so
  // that the base is raised at most once.
  HWY_ATTR void absorb_tile(std::int64_t keys) {
    for (int v = 0; v < kV; ++v) absorb_column(v, keys);
  }
  HWY_ATTR HWY_INLINE void absorb_column(int v, std::int64_t keys) {
    const D d;
    float* const column = s + v * lanes();
    const V before = sums.max[v];
    Slot largest[4] = {before, before, before, before};
    std::int64_t j = 0;
    for (; j + 4 <= keys; j += 4) {
#pragma GCC unroll 4
      for (int u = 0; u < 4; ++u) largest[u] = hn::Max(largest[u], hn::Load(d, column + (j + u) * width));
    }
    for (; j < keys; ++j) largest[0] = hn::Max(largest[0], hn::Load(d, column + j * width));
    const V now = hn::Max(hn::Max(largest[0], largest[1]), hn::Max(largest[2], largest[3]));
    sums.max[v] = now;
    if (!hn::AllFalse(d, sums.is_ahead(now, sums.base[v]))) raise_base(v, now, 0);
    const V from = sums.shift(sums.base[v]);
    V total = hn::Zero(d);
    for_each_block<4>(keys, [&]<int kR>(std::int64_t first) HWY_ATTR {
      total = hn::Add(total, exponentiate<kR>(column + first * width, from));
    });
    sums.tile_sum[v] = total;
  }
  // kN keys of a column of scores, in place. Returns their sum, a tree with fixed places: keys that are
  // missing to fill it would have added 0.
  template <int kN>
  HWY_ATTR HWY_INLINE V exponentiate(float* column, V from) {
    const D d;
    Slot p[kN];
#pragma GCC unroll 4
    for (int u = 0; u < kN; ++u) p[u] = hn::Sub(hn::Load(d, column + u * width), from);
    exponentials(p);
#pragma GCC unroll 4
    for (int u = 0; u < kN; ++u) hn::Store(p[u], d, column + u * width);
    V group = p[0];
    if constexpr (kN > 1) group = hn::Add(group, p[1]);
    if constexpr (kN == 3) group = hn::Add(group, p[2]);
    if constexpr (kN == 4) group = hn::Add(group, hn::Add(p[2], p[3]));
    return group;
  }

  HWY_ATTR void absorb_stored(std::int64_t keys) {
    if constexpr (kManyRegisters) {
      for_each_block(keys, [&]<int kR>(std::int64_t j) HWY_ATTR {
        Slot score[kR][kV];
        load_block(score, s + j * width, width);
        absorb(j, score);
      });
    } else {
      absorb_tile(keys);
    }
  }

  // Masked values may be NaN or infinite, and 0 x NaN is NaN. Such values are taken out of the product
  // and added lane by lane, where their key takes part. `seen` keeps the scores from before the exponentials.
  HWY_ATTR void add_values_guarded(std::int64_t first_key, std::int64_t keys) {
    const D d;
    const V minus_infinity = hn::Set(d, kMinusInfinity<float>);
    for (std::int64_t c = 0; c < head.dv; ++c) {
      for (int v = 0; v < kV; ++v) {
        float* const at = o + c * width + v * lanes();
        V total = hn::Load(d, at);
        for (std::int64_t j = 0; j < keys; ++j) {
          const V score = hn::Load(d, seen + j * width + v * lanes());
          const V p = hn::Load(d, s + j * width + v * lanes());
          const V added = hn::MulAdd(hn::Set(d, head.value(first_key + j)[c]), p, total);
          total = hn::IfThenElse(hn::Eq(score, minus_infinity), total, added);
        }
        hn::Store(total, d, at);
      }
    }
  }

  HWY_ATTR void key_tile(std::int64_t first_key, std::int64_t keys) {
    sums.begin_tile();
    bool guarded = false;
    if (scores.plain(first_key, keys)) {
      scores.for_each_plain_block(first_key, keys,
                                  [&]<int kR>(std::int64_t j, const Slot(&score)[kR][kV]) HWY_ATTR {
                                    if constexpr (kManyRegisters) {
                                      absorb(j, score);
                                    } else {
                                      store_block(score, s + j * width, width);
                                    }
                                  });
      if constexpr (!kManyRegisters) absorb_tile(keys);
    } else {
      const bool masked = scores.make(first_key, keys);
      guarded = masked && !all_finite(head.value(first_key), head.v_stride, keys, head.dv);
      if (guarded) std::copy_n(s, keys * width, seen);
      absorb_stored(keys);
    }
    sums.end_tile();
    drop_weights<kV>(head.dropout, scores.first, first_key, keys, s);
    if (guarded) {
      fill_output();
      add_values_guarded(first_key, keys);
    } else if (filled == 0) {
      product<kV, false>(head.dv, keys, head.value(first_key), 1, head.v_stride, s, o, width);
      filled = head.dv;
    } else {
      product<kV, true>(head.dv, keys, head.value(first_key), 1, head.v_stride, s, o, width);
    }
  }

  HWY_ATTR void fill_output() {
    if (filled == 0) std::fill_n(o, head.dv * width, 0.0f);
    filled = head.dv;
  }

  HWY_ATTR void finish(const HeadOutput<float>& output) {
    fill_output();
    float* const state_max = seen;  // no longer needed for scores
    float* const state_sum = seen + width;
    float* const inverses = seen + 2 * width;
    for (int v = 0; v < kV; ++v) {
      hn::Store(sums.inverse(head.kept, sums.sum[v]), D(), inverses + v * lanes());
      sums.state(v, state_max, state_sum);
    }
    columns_to_rows(o, width, scores.count, head.dv, output.out + scores.first * output.out_stride,
                    output.out_stride, inverses);
    for (std::int64_t i = 0; i < scores.count; ++i)
      output.set_state(scores.first + i, state_max[i], state_sum[i]);
  }

  // Rows that are needed when this tile ends: of the next one's queries, and of the output.
  static HWY_INLINE void prefetch_rows(const float* rows, std::int64_t stride, std::int64_t n,
                                       std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      for (std::int64_t c = 0; c < n; c += 16) hwy::Prefetch(rows + r * stride + c);
    }
  }

  HWY_ATTR void begin(const HeadOutput<float>& output) {
    sums.begin(head.sink);
    const KeyRange keys = scores.keys();
    if (keys.begin < keys.end) scores.pack_queries();
    if (!kManyRegisters && keys.end - keys.begin > kKeyTile) {
      const std::int64_t last = scores.first + scores.count;
      prefetch_rows(head.q, head.q_stride, head.d, last, std::min(last + width, head.queries));
      prefetch_rows(output.out, output.out_stride, head.dv, scores.first, last);
    }
  }

  HWY_ATTR void run(const HeadOutput<float>& output) {
    begin(output);
    const KeyRange keys = scores.keys();
    for (std::int64_t key = keys.begin; key < keys.end;) {
      const std::int64_t next = scores.next_tile(key, keys.end);
      key_tile(key, next - key);
      key = next;
    }
    finish(output);
  }
};

template <int kV>
HWY_ATTR void run_tile(const Head<float>& head, std::int64_t first, std::int64_t last,
                       const HeadOutput<float>& output, float* scratch) {
  if constexpr (kV > 1) {
    if (last - first <= (kV - 1) * lanes()) return run_tile<kV - 1>(head, first, last, output, scratch);
  }
  Tile<kV>(head, first, last - first, scratch, scratch + Tile<kV>::shared_size()).run(output);
}

// Whole tiles of queries that take turns at each tile of keys, which is fetched from afar once for all.
HWY_ATTR void run_tiles(const Head<float>& head, std::int64_t first, int count,
                        const HeadOutput<float>& output, float* scratch) {
  using Whole = Tile<kVectors>;
  std::optional<Whole> tiles[kFusedTiles];
  Head<float> read = head;  // by the first of the tiles
  read.unread = false;
  const std::int64_t own_size = Whole::own_size(head.d, head.dv);
  KeyRange all{head.keys, 0};
  for (int i = 0; i < count; ++i) {
    Whole& tile = tiles[i].emplace(i == 0 ? head : read, first + i * tile_queries(), tile_queries(), scratch,
                                   scratch + Whole::shared_size() + i * own_size);
    tile.begin(output);
    all.begin = std::min(all.begin, tile.scores.keys().begin);
    all.end = std::max(all.end, tile.scores.keys().end);
  }
  for (std::int64_t key = all.begin; key < all.end;) {
    const std::int64_t next = ScoreTile<kVectors>::next_tile(key, all.end);
    for (int i = 0; i < count; ++i) {
      const KeyRange seen = tiles[i]->scores.keys();
      const std::int64_t from = std::max(key, seen.begin), to = std::min(next, seen.end);
      if (from < to) tiles[i]->key_tile(from, to - from);
    }
    key = next;
  }
  for (int i = 0; i < count; ++i) tiles[i]->finish(output);
}

HWY_ATTR void run(const Head<float>& head, std::int64_t first, std::int64_t last,
                  const HeadOutput<float>& output, float* scratch) {
  const std::int64_t whole = (last - first) / tile_queries();
  if (whole > 1) {
    run_tiles(head, first, static_cast<int>(whole), output, scratch);
    first += whole * tile_queries();
  }
  for (; first < last; first += tile_queries())
    run_tile<kVectors>(head, first, std::min(first + tile_queries(), last), output, scratch);
}

HWY_ATTR std::int64_t queries() { return tile_queries(); }
HWY_ATTR std::int64_t group_queries() { return lanes(); }

HWY_ATTR std::int64_t scratch_size(std::int64_t d, std::int64_t dv) {
  return Tile<kVectors>::shared_size() + kFusedTiles * Tile<kVectors>::own_size(d, dv);
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attend::kernels {
namespace {

HWY_EXPORT(run);
HWY_EXPORT(queries);
HWY_EXPORT(group_queries);
HWY_EXPORT(scratch_size);

}  // namespace

std::int64_t fused_tile_queries() noexcept { return HWY_DYNAMIC_DISPATCH(queries)(); }
std::int64_t fused_group_queries() noexcept { return HWY_DYNAMIC_DISPATCH(group_queries)(); }

std::int64_t scratch_size_fused(std::int64_t d, std::int64_t dv) noexcept {
  return HWY_DYNAMIC_DISPATCH(scratch_size)(d, dv);
}

void attention_fused(const Head<float>& head, std::int64_t first, std::int64_t last,
                     const HeadOutput<float>& output, float* scratch) noexcept {
  HWY_DYNAMIC_DISPATCH(run)(head, first, last, output, scratch);
}

}  // namespace attend::kernels
#endif
