// The weights of a tile, added to the cells of a map: first over the keys of a cell, queries in lanes; then,
// transposed, over the queries of a cell, with the columns of the map in lanes. Each part of a cell is
// added up in f32 and joins the rest in f64.
#if defined(ATTEND_KERNELS_ATTENTION_MAP_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_ATTENTION_MAP_TILE_INL_H_
#undef ATTEND_KERNELS_ATTENTION_MAP_TILE_INL_H_
#else
#define ATTEND_KERNELS_ATTENTION_MAP_TILE_INL_H_
#endif

#include "kernels/attention/score_tile-inl.h"
#include "kernels/attention/scratch_pieces.h"
#include "kernels/attention/weights.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

template <int kV>
struct MapTile {
  static constexpr std::int64_t kStride = kKeyTile + 16;  // not a power of two, so that rows lie in all of L1

  const SummaryTarget<float>& target;
  const std::int64_t width = kV * lanes();
  float* const turned;       // (width, kStride)
  std::int64_t* const ends;  // (width): the lane after each cell of queries
  std::int64_t first = 0, cells = 0;

  MapTile(const SummaryTarget<float>& t, ScratchPieces& scratch)
      : target(t), turned(scratch.take<float>(width * kStride)), ends(scratch.take<std::int64_t>(width)) {}
  static std::int64_t scratch_size() {
    const std::int64_t width = kV * lanes();
    return ScratchPieces::floats_for<float>(width * kStride) + ScratchPieces::floats_for<std::int64_t>(width);
  }

  // The cells that queries [first_row, first_row + count) fall into.
  HWY_ATTR void begin(std::int64_t first_row, std::int64_t count) {
    first = target.rows.holding(first_row);
    cells = target.rows.holding(first_row + count - 1) - first + 1;
    for (std::int64_t r = 0; r < cells; ++r) {
      ends[r] = std::min(target.rows.end(first + r) - first_row, count);
    }
  }

  // Overwrites the weights.
  HWY_ATTR void add(float* weights, std::int64_t n, std::int64_t first_key) {
    return target.map_is_max ? add<true>(weights, n, first_key) : add<false>(weights, n, first_key);
  }

 private:
  template <bool kMax>
  HWY_ATTR HWY_INLINE V join(V a, V b) const {
    if constexpr (!kMax) return hn::Add(a, b);
    return hn::IfThenElse(hn::Or(hn::Gt(b, a), hn::IsNaN(b)), b, a);  // NaN is larger than any number
  }

  template <bool kMax>
  HWY_ATTR void add(float* weights, std::int64_t n, std::int64_t first_key) {
    const std::int64_t column = target.columns.holding(first_key);
    std::int64_t columns = 0;
    for (std::int64_t j = 0; j < n; ++columns) {
      const std::int64_t end = std::min(target.columns.end(column + columns) - first_key, n);
      add_keys<kMax>(weights + j * width, end - j, weights + columns * width);  // never ahead of what is read
      j = end;
    }
    columns_to_rows(weights, width, ends[cells - 1], columns, turned, kStride);
    double* map = target.map + (first - target.first_cell) * target.columns.count + column;
    for (std::int64_t r = 0, row = 0; r < cells; row = ends[r++], map += target.columns.count) {
      add_queries<kMax>(turned + row * kStride, ends[r] - row, columns, map);
    }
  }

  // `keys` rows of weights become one.
  template <bool kMax>
  HWY_ATTR HWY_INLINE void add_keys(const float* weights, std::int64_t keys, float* line) {
    const D d;
    Slot total[kV];
#pragma GCC unroll 3
    for (int v = 0; v < kV; ++v) total[v] = hn::Load(d, weights + v * lanes());
    for (std::int64_t j = 1; j < keys; ++j) {
#pragma GCC unroll 3
      for (int v = 0; v < kV; ++v) {
        total[v] = join<kMax>(total[v], hn::Load(d, weights + j * width + v * lanes()));
      }
    }
#pragma GCC unroll 3
    for (int v = 0; v < kV; ++v) hn::Store(total[v], d, line + v * lanes());
  }

  // `queries` rows of columns, into one row of the map.
  template <bool kMax>
  HWY_ATTR HWY_INLINE void add_queries(const float* rows, std::int64_t queries, std::int64_t columns,
                                       double* map) {
    const D d;
    HWY_ALIGN float part[HWY_MAX_BYTES / sizeof(float)];
    for (std::int64_t c = 0; c < columns; c += lanes()) {
      V total = hn::Load(d, rows + c);
      for (std::int64_t i = 1; i < queries; ++i)
        total = join<kMax>(total, hn::Load(d, rows + i * kStride + c));
      hn::Store(total, d, part);
      const std::int64_t here = std::min(columns - c, lanes());
      for (std::int64_t l = 0; l < here; ++l) {
        const auto x = static_cast<double>(part[l]);
        map[c + l] = kMax ? larger(map[c + l], x) : map[c + l] + x;
      }
    }
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#endif  // ATTEND_KERNELS_ATTENTION_MAP_TILE_INL_H_
