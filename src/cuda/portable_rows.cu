// Chosen rows of one stage, by the portable tile of scores. A block has 32 of the rows and 32 keys.
#include "cuda/error.h"
#include "cuda/score_tile.cuh"
#include "cuda/weights.h"

namespace attend::cuda {
namespace {

enum class RowStage { scores, capped, biased, weights };  // numbered as Stage is

__global__ void __launch_bounds__(kTileThreads)
    rows_kernel(const Problem p, const RowStage stage, const Chosen chosen, const SettledPlaces settled,
                const Placed out, std::int64_t width, std::int64_t row_tiles, std::int64_t key_tiles,
                std::int64_t total) {
  __shared__ ScoreTile tile;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (std::int64_t index = blockIdx.x; index < total; index += gridDim.x) {
    const std::int64_t key = index % key_tiles * kTileKeys, j = key + lane;
    const std::int64_t first = index / key_tiles % row_tiles * kTileRows;
    const std::int64_t at_head = index / key_tiles / row_tiles;
    const std::int64_t b = at_head % chosen.head_count, a = at_head / chosen.head_count;
    const Head head(p, Chosen::at(chosen.sequences, a), Chosen::at(chosen.heads, b));
    const auto query_of = [&](int row) {
      return first + row < chosen.row_count ? Chosen::at(chosen.rows, first + row) : std::int64_t{-1};
    };
    tile.make(p, head, query_of, key, head.sequence.keys);
    for (int r = 0; r < kRowsOfWarp; ++r) {
      const int row = warp * kRowsOfWarp + r;
      const std::int64_t i = query_of(row);
      if (i < 0 || j >= width) continue;
      float value = stage == RowStage::weights ? 0.f : -CUDART_INF_F;  // where a sequence has no such key
      if (j < head.sequence.keys) {
        value = tile.s[row][lane];
        if (stage == RowStage::capped) value = Head::capped(p, value);
        if (stage >= RowStage::biased) value = head.biased(p, head.visible.keys_of(i), i, j, value);
        if (stage == RowStage::weights)
          value = weight_of(value, settled.of(a, b, head.sequence.query_begin, first + row));
      }
      float* const to = reinterpret_cast<float*>(out.data) + a * out.sequence + b * out.head +
                        (first + row) * out.row + j * out.element;
      *to = value;
    }
  }
}

}  // namespace

void portable_rows(plugin::Place place, const Problem& problem, int stage, const Chosen& chosen,
                   const SettledPlaces& settled, const plugin::View& out) {
  const std::int64_t row_tiles = (chosen.row_count + kTileRows - 1) / kTileRows,
                     key_tiles = (out.shape[3] + kTileKeys - 1) / kTileKeys;
  const std::int64_t total = chosen.sequence_count * chosen.head_count * row_tiles * key_tiles;
  if (total == 0) return;
  rows_kernel<<<tile_blocks(total), kTileThreads, 0, static_cast<cudaStream_t>(place.stream)>>>(
      problem, static_cast<RowStage>(stage), chosen, settled, placed(out, false), out.shape[3], row_tiles,
      key_tiles, total);
  check(cudaGetLastError(), "launch attention_rows");
}

}  // namespace attend::cuda
