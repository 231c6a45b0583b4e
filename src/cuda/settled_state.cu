#include "cuda/settled_state.h"

#include "cuda/error.h"
#include "cuda/score_tile.cuh"
#include "cuda/walk.cuh"

namespace attend::cuda {
namespace {

__device__ Settled settled(float max, double sum) {
  if (sum == 0) return {0, 0, 0};
  const bool finite = max - max == 0 && sum - sum == 0;
  if (!finite) return {CUDART_NAN_F, CUDART_NAN_F, CUDART_NAN_F};
  return {max, static_cast<float>(1 / sum), static_cast<float>(log(sum))};
}

__global__ void read_kernel(const Problem p, const Placed max, const Placed sum, const Chosen chosen,
                            const SettledPlaces places, std::int64_t total) {
  for (std::int64_t index = first_index(); index < total; index += index_step()) {
    const std::int64_t r = index % chosen.row_count, b = index / chosen.row_count % chosen.head_count,
                       a = index / chosen.row_count / chosen.head_count;
    const std::int64_t s = Chosen::at(chosen.sequences, a), h = Chosen::at(chosen.heads, b),
                       i = Chosen::at(chosen.rows, r);
    const Sequence sequence = p.each == nullptr ? p.same : p.each[s];
    if (i >= sequence.queries) continue;
    const std::int64_t row = sequence.query_begin + i;
    places.of(a, b, sequence.query_begin, r) =
        settled(*reinterpret_cast<const float*>(Head::row_of(max, s, h, row)),
                *reinterpret_cast<const float*>(Head::row_of(sum, s, h, row)));
  }
}

// A warp has 8 rows, a lane every 32nd key of each.
__global__ void __launch_bounds__(kTileThreads)
    compute_kernel(const Problem p, const Chosen chosen, const SettledPlaces places, std::int64_t row_tiles,
                   std::int64_t total) {
  __shared__ ScoreTile tile;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (std::int64_t index = blockIdx.x; index < total; index += gridDim.x) {
    const std::int64_t first = index % row_tiles * kTileRows;
    const std::int64_t b = index / row_tiles % chosen.head_count, a = index / row_tiles / chosen.head_count;
    const Head head(p, Chosen::at(chosen.sequences, a), Chosen::at(chosen.heads, b));
    const auto query_of = [&](int row) {
      if (first + row >= chosen.row_count) return std::int64_t{-1};
      const std::int64_t i = Chosen::at(chosen.rows, first + row);
      return i < head.sequence.queries ? i : std::int64_t{-1};
    };
    float largest[kRowsOfWarp];
    double sum[kRowsOfWarp];
#pragma unroll
    for (int r = 0; r < kRowsOfWarp; ++r) {
      const bool sink = lane == 0 && head.sink != -CUDART_INF_F;
      largest[r] = sink ? head.sink : -CUDART_INF_F;
      sum[r] = sink ? 1 : 0;
    }
    // Keys that any row sees: chosen rows may come in any order.
    std::int64_t begin = head.sequence.key_count, end = 0;
    for (int row = 0; row < kTileRows; ++row) {
      const std::int64_t i = query_of(row);
      if (i < 0) continue;
      const KeySpan span = head.visible.keys_of(i);
      if (span.begin == span.end) continue;
      begin = min(begin, span.begin);
      end = max(end, span.end);
    }
    for (std::int64_t key = begin / kTileKeys * kTileKeys; key < end; key += kTileKeys) {
      tile.make(p, head, query_of, key, end);
#pragma unroll
      for (int r = 0; r < kRowsOfWarp; ++r) {
        const int row = warp * kRowsOfWarp + r;
        const std::int64_t i = query_of(row);
        if (i < 0) continue;
        const float x = head.biased(p, head.visible.keys_of(i), i, key + lane, tile.s[row][lane]);
        if (x == -CUDART_INF_F) continue;
        if (x > largest[r]) {
          sum[r] = sum[r] * exp(static_cast<double>(largest[r]) - x) + 1;
          largest[r] = x;
        } else {
          sum[r] += expf(x - largest[r]);
        }
      }
    }
#pragma unroll
    for (int r = 0; r < kRowsOfWarp; ++r) {
      for (int step = 1; step < 32; step *= 2) {
        const float other = __shfl_xor_sync(~0u, largest[r], step);
        const double other_sum = __shfl_xor_sync(~0u, sum[r], step);
        const float now = fmaxf(largest[r], other);
        const double mine = sum[r] == 0 ? 0 : sum[r] * exp(static_cast<double>(largest[r]) - now);
        const double theirs = other_sum == 0 ? 0 : other_sum * exp(static_cast<double>(other) - now);
        sum[r] = mine + theirs;
        largest[r] = now;
      }
      const int row = warp * kRowsOfWarp + r;
      if (lane == 0 && query_of(row) >= 0)
        places.of(a, b, head.sequence.query_begin, first + row) = settled(largest[r], sum[r]);
    }
  }
}

}  // namespace

Chosen all_rows(const plugin::Attention& call) {
  Chosen chosen;
  chosen.sequence_count = call.sequence_count;
  chosen.head_count = call.query_heads;
  chosen.row_count = call.longest_queries;
  return chosen;
}

SettledRows::SettledRows(plugin::Place place, const plugin::Attention& call) {
  std::int64_t rows = call.sequence_count * call.longest_queries;
  if (call.packed != 0) {
    rows = call.q.shape[0];
    places_ = {nullptr, 0, 1, call.query_heads, true};
  } else {
    places_ = {nullptr, call.query_heads * call.longest_queries, call.longest_queries, 1, false};
  }
  memory_ = Scratch(place, static_cast<std::size_t>(rows * call.query_heads) * sizeof(Settled));
  places_.data = memory_.data<Settled>();
}

SettledRows::SettledRows(plugin::Place place, const Chosen& chosen)
    : memory_(place, static_cast<std::size_t>(chosen.sequence_count * chosen.head_count * chosen.row_count) *
                         sizeof(Settled)),
      places_{memory_.data<Settled>(), chosen.head_count * chosen.row_count, chosen.row_count, 1, false} {}

void settle(plugin::Place place, const plugin::Attention& call, const Problem& problem,
            const plugin::RowState& state, const Chosen& chosen, const SettledPlaces& places) {
  const auto stream = static_cast<cudaStream_t>(place.stream);
  const std::int64_t heads = chosen.sequence_count * chosen.head_count;
  if (heads * chosen.row_count == 0) return;
  if (state.max.data != nullptr) {
    const std::int64_t total = heads * chosen.row_count;
    const bool packed = call.packed != 0;
    read_kernel<<<walk_blocks(total), kWalkThreads, 0, stream>>>(
        problem, placed(state.max, packed), placed(state.sum, packed), chosen, places, total);
  } else {
    const std::int64_t row_tiles = (chosen.row_count + kTileRows - 1) / kTileRows, total = heads * row_tiles;
    compute_kernel<<<tile_blocks(total), kTileThreads, 0, stream>>>(problem, chosen, places, row_tiles, total);
  }
  check(cudaGetLastError(), "launch the row state's kernel");
}

}  // namespace attend::cuda
