// The gradient of a bias. A block owns 32 x 32 of its elements, or 32 or one where an axis is broadcast, and adds
// up every score that had them, sequence by sequence and head by head, in f64.
#include "cuda/backward.h"
#include "cuda/error.h"
#include "cuda/gradient_tile.cuh"

namespace attend::cuda {
namespace {

// What the bias is over (sequence, head, query, key): 1 where it is broadcast.
struct BiasShape {
  std::int64_t sequences = 1, heads = 1, queries = 1, keys = 1;
};

__global__ void __launch_bounds__(kGradientThreads)
    bias_kernel(const BackwardProblem b, const PlacedBroadcast target, const BiasShape shape, std::int64_t sequences,
                std::int64_t longest_queries, std::int64_t longest_keys, std::int64_t query_tiles,
                std::int64_t key_tiles) {
  __shared__ GradientSlices slices;
  __shared__ double sums[kGradientRows][kGradientKeys];
  const Problem& p = b.problem;
  const std::int64_t index = blockIdx.x;
  const std::int64_t key_tile = index % key_tiles, query_tile = index / key_tiles % query_tiles;
  const std::int64_t bias_head = index / key_tiles / query_tiles % shape.heads;
  const std::int64_t bias_sequence = index / key_tiles / query_tiles / shape.heads;
  const bool all_sequences = shape.sequences == 1, all_heads = shape.heads == 1;
  // Where an axis is broadcast, the one tile of the bias takes all tiles of the scores.
  const bool all_queries = shape.queries == 1, all_keys = shape.keys == 1;
  double sum[4][2] = {};
  for (std::int64_t s = all_sequences ? 0 : bias_sequence; s < (all_sequences ? sequences : bias_sequence + 1); ++s) {
    for (std::int64_t h = all_heads ? 0 : bias_head; h < (all_heads ? p.heads : bias_head + 1); ++h) {
      const Head head(p, s, h);
      const std::int64_t query_end =
          min(head.sequence.queries, all_queries ? longest_queries : (query_tile + 1) * kGradientRows);
      for (std::int64_t query = all_queries ? 0 : query_tile * kGradientRows; query < query_end;
           query += kGradientRows) {
        const std::int64_t last = min(query + kGradientRows, head.sequence.queries) - 1;
        const std::int64_t begin = head.visible.keys_of(query).begin / kGradientKeys * kGradientKeys;
        const std::int64_t end = head.visible.keys_of(last).end;
        for (std::int64_t key = all_keys ? begin : key_tile * kGradientKeys;
             key < (all_keys ? end : min(end, (key_tile + 1) * kGradientKeys)); key += kGradientKeys) {
          if (key + kGradientKeys <= begin) continue;
          GradientTile at;
          at.make<true>(b, head, s, h, query, key, slices);
          for (int r = 0; r < 4; ++r) {
            for (int x = 0; x < 2; ++x) sum[r][x] += double{at.change[r][x]};
          }
        }
      }
    }
  }
  for (int r = 0; r < 4; ++r) {
    for (int x = 0; x < 2; ++x) sums[GradientTile::row(r)][GradientTile::key(x)] = sum[r][x];
  }
  __syncthreads();
  const std::int64_t base = bias_sequence * target.sequence + bias_head * target.head;
  const int rows = all_queries ? 1 : kGradientRows, keys = all_keys ? 1 : kGradientKeys;
  for (int x = threadIdx.x; x < rows * keys; x += kGradientThreads) {
    const int row = x / keys, key = x % keys;
    const std::int64_t i = query_tile * rows + row, j = key_tile * keys + key;
    if (i >= shape.queries || j >= shape.keys) continue;
    double total = 0;
    for (int y = all_queries ? 0 : row; y < (all_queries ? kGradientRows : row + 1); ++y) {
      for (int z = all_keys ? 0 : key; z < (all_keys ? kGradientKeys : key + 1); ++z) total += sums[y][z];
    }
    store_double(target.data, target.number, base + i * target.row + j * target.element, total);
  }
}

BiasShape shape_of(const plugin::View& view) {
  BiasShape shape;
  std::int64_t* const sizes[4] = {&shape.sequences, &shape.heads, &shape.queries, &shape.keys};
  for (int axis = 0; axis < view.rank; ++axis) *sizes[4 - view.rank + axis] = view.shape[axis];
  return shape;
}

}  // namespace

void bias_gradient(plugin::Place place, const plugin::Attention& call, const BackwardProblem& backward,
                   const plugin::View& target) {
  const BiasShape shape = shape_of(target);
  const std::int64_t query_tiles = shape.queries == 1 ? 1 : (shape.queries + kGradientRows - 1) / kGradientRows;
  const std::int64_t key_tiles = shape.keys == 1 ? 1 : (shape.keys + kGradientKeys - 1) / kGradientKeys;
  const std::int64_t blocks = shape.sequences * shape.heads * query_tiles * key_tiles;
  if (blocks == 0) return;
  if (blocks > INT32_MAX) fail("takes a gradient of a bias of at most 2^31 tiles of 32 x 32, and this one has ", blocks);
  bias_kernel<<<static_cast<unsigned>(blocks), kGradientThreads, 0, static_cast<cudaStream_t>(place.stream)>>>(
      backward, broadcast(target), shape, call.sequence_count, call.longest_queries, call.longest_keys, query_tiles,
      key_tiles);
  check(cudaGetLastError(), "launch the gradient of the bias");
}

}  // namespace attend::cuda
