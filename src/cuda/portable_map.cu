// The map of a matrix of weights, by the portable tile of scores. A block has the cells of at most 32 queries and
// 32 keys, or one cell of more of either, and goes through their tiles in order.
#include <algorithm>

#include "cuda/cells.h"
#include "cuda/error.h"
#include "cuda/score_tile.cuh"
#include "cuda/weights.h"

namespace attend::cuda {
namespace {

__device__ double larger(double a, double b) { return b > a || isnan(b) ? b : a; }

struct MapMemory {
  ScoreTile tile;
  double columns[kTileRows][kTileKeys];      // of a row of cells, for each key of the tile
  double cells[kTileRows * kTileKeys];       // of the block
};

__global__ void __launch_bounds__(kTileThreads)
    map_kernel(const Problem p, const SettledPlaces settled, const Placed map, std::int64_t map_rows,
               std::int64_t map_columns, bool is_max, std::int64_t row_groups, std::int64_t column_groups,
               std::int64_t total) {
  __shared__ MapMemory memory;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const auto add = [is_max](double a, double b) { return is_max ? larger(a, b) : a + b; };
  for (std::int64_t index = blockIdx.x; index < total; index += gridDim.x) {
    const std::int64_t h = index / column_groups / row_groups % p.heads,
                       s = index / column_groups / row_groups / p.heads;
    const Head head(p, s, h);
    const Cells rows(head.sequence.queries, map_rows), columns(head.sequence.keys, map_columns);
    const std::int64_t r0 = index / column_groups % row_groups * rows.together(kTileRows),
                       c0 = index % column_groups * columns.together(kTileKeys);
    if (r0 >= rows.count || c0 >= columns.count) continue;
    const std::int64_t r1 = min(r0 + rows.together(kTileRows), rows.count),
                       c1 = min(c0 + columns.together(kTileKeys), columns.count);
    const int height = static_cast<int>(r1 - r0), width = static_cast<int>(c1 - c0);
    __syncthreads();
    for (int e = threadIdx.x; e < height * width; e += kTileThreads) memory.cells[e] = 0;

    const std::int64_t query_end = rows.begin(r1), key_end = columns.begin(c1);
    for (std::int64_t first = rows.begin(r0); first < query_end; first += kTileRows) {
      const std::int64_t last = min(first + kTileRows, query_end) - 1;
      const auto query_of = [&](int row) { return first + row <= last ? first + row : std::int64_t{-1}; };
      for (std::int64_t key = columns.begin(c0); key < key_end; key += kTileKeys) {
        if (head.visible.keys_of(first).begin >= key + kTileKeys || head.visible.keys_of(last).end <= key) continue;
        memory.tile.make(p, head, query_of, key, head.sequence.key_count);
        for (int row = warp * kRowsOfWarp; row < (warp + 1) * kRowsOfWarp; ++row) {
          const std::int64_t i = first + row, j = key + lane;
          float weight = 0;
          if (i <= last && j < key_end)
            weight = weight_of(head.biased(p, head.visible.keys_of(i), i, j, memory.tile.s[row][lane]),
                               settled.of(s, h, head.sequence.query_begin, i));
          memory.tile.s[row][lane] = weight;
        }
        __syncthreads();
        for (int e = threadIdx.x; e < height * kTileKeys; e += kTileThreads) {
          const std::int64_t r = r0 + e / kTileKeys;
          const int from = static_cast<int>(max(rows.begin(r) - first, std::int64_t{0})),
                    to = static_cast<int>(min(rows.end(r) - first, std::int64_t{kTileRows}));
          double sum = 0;
          for (int row = from; row < to; ++row) sum = add(sum, memory.tile.s[row][e % kTileKeys]);
          memory.columns[e / kTileKeys][e % kTileKeys] = sum;
        }
        __syncthreads();
        for (int e = threadIdx.x; e < height * width; e += kTileThreads) {
          const std::int64_t c = c0 + e % width;
          const int from = static_cast<int>(max(columns.begin(c) - key, std::int64_t{0})),
                    to = static_cast<int>(min(columns.end(c) - key, std::int64_t{kTileKeys}));
          double sum = memory.cells[e];
          for (int column = from; column < to; ++column) sum = add(sum, memory.columns[e / width][column]);
          memory.cells[e] = sum;
        }
      }
    }

    for (int e = threadIdx.x; e < height * width; e += kTileThreads) {
      const std::int64_t r = r0 + e / width, c = c0 + e % width;
      const auto area = static_cast<double>((rows.end(r) - rows.begin(r)) * (columns.end(c) - columns.begin(c)));
      const auto value = static_cast<float>(is_max ? memory.cells[e] : memory.cells[e] / area);
      for (std::int64_t y = rows.shown_begin(r); y < rows.shown_begin(r + 1); ++y) {
        for (std::int64_t x = columns.shown_begin(c); x < columns.shown_begin(c + 1); ++x)
          reinterpret_cast<float*>(map.data)[s * map.sequence + h * map.head + y * map.row + x * map.element] = value;
      }
    }
  }
}

}  // namespace

void portable_map(plugin::Place place, const plugin::Attention& call, const Problem& problem,
                  const SettledPlaces& settled, const SummaryTarget& target) {
  if (target.map.data == nullptr) return;
  std::int64_t row_groups = 0, column_groups = 0;
  for (std::int64_t s = 0; s < call.sequence_count; ++s) {
    const Cells rows(call.sequences[s].queries, target.map_rows), columns(call.sequences[s].keys, target.map_columns);
    if (rows.count == 0 || columns.count == 0) continue;  // its cells are 0
    row_groups = std::max(row_groups, rows.groups(kTileRows));
    column_groups = std::max(column_groups, columns.groups(kTileKeys));
  }
  const std::int64_t total = row_groups * column_groups * call.query_heads * call.sequence_count;
  if (total == 0) return;
  map_kernel<<<tile_blocks(total), kTileThreads, 0, static_cast<cudaStream_t>(place.stream)>>>(
      problem, settled, target.map, target.map_rows, target.map_columns, target.map_is_max, row_groups,
      column_groups, total);
  check(cudaGetLastError(), "launch the map of weights");
}

}  // namespace attend::cuda
