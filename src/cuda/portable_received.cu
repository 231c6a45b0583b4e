// What each key receives, by the portable tile of scores: a block has 32 keys and goes through the queries of its
// sequence in rising order. A lane has one key, and a warp every fourth group of 8 queries, whose sums are added
// at the end in the order of the warps: the order of a sum depends on the numbers of queries only.
#include "cuda/error.h"
#include "cuda/score_tile.cuh"
#include "cuda/weights.h"

namespace attend::cuda {
namespace {

__global__ void __launch_bounds__(kTileThreads, 4)
    received_kernel(const Problem p, const SettledPlaces settled, const Placed received, std::int64_t key_tiles,
                    std::int64_t total) {
  __shared__ ScoreTile tile;
  __shared__ double sums[kTileWarps][kTileKeys];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (std::int64_t index = blockIdx.x; index < total; index += gridDim.x) {
    const std::int64_t key = index % key_tiles * kTileKeys, h = index / key_tiles % p.heads,
                       s = index / key_tiles / p.heads;
    const Head head(p, s, h);
    if (key >= head.sequence.keys) continue;
    const std::int64_t queries = head.sequence.queries, j = key + lane;
    double sum = 0;
    for (std::int64_t first = 0; first < queries; first += kTileRows) {
      const std::int64_t last = min(first + kTileRows, queries) - 1;
      if (head.visible.keys_of(first).begin >= key + kTileKeys || head.visible.keys_of(last).end <= key) continue;
      const auto query_of = [&](int row) { return first + row <= last ? first + row : std::int64_t{-1}; };
      tile.make(p, head, query_of, key, head.sequence.key_count);
      for (int row = warp * kRowsOfWarp; row < (warp + 1) * kRowsOfWarp; ++row) {
        const std::int64_t i = first + row;
        if (i > last) break;
        const float x = head.biased(p, head.visible.keys_of(i), i, j, tile.s[row][lane]);
        sum += weight_of(x, settled.of(s, h, head.sequence.query_begin, i));
      }
    }
    __syncthreads();
    sums[warp][lane] = sum;
    __syncthreads();
    if (warp != 0 || j >= head.sequence.keys) continue;
    for (int other = 1; other < kTileWarps; ++other) sum += sums[other][lane];
    *reinterpret_cast<float*>(const_cast<char*>(Head::row_of(received, s, h, head.sequence.key_begin + j))) =
        static_cast<float>(sum);
  }
}

}  // namespace

void portable_received(plugin::Place place, const plugin::Attention& call, const Problem& problem,
                       const SettledPlaces& settled, const SummaryTarget& target) {
  const std::int64_t key_tiles = (call.longest_keys + kTileKeys - 1) / kTileKeys;
  const std::int64_t total = key_tiles * call.query_heads * call.sequence_count;
  if (total == 0 || target.received.data == nullptr) return;
  received_kernel<<<tile_blocks(total), kTileThreads, 0, static_cast<cudaStream_t>(place.stream)>>>(
      problem, settled, target.received, key_tiles, total);
  check(cudaGetLastError(), "launch the sums of columns");
}

}  // namespace attend::cuda
