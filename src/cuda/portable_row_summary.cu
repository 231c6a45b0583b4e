// What belongs to a row of weights: its largest keys and its entropy, by the portable tile of scores. A block has
// 32 queries and goes through their keys in rising order; a warp looks at one row at a time, a lane at every
// 32nd key.
//
// The best keys so far are kept where the answer goes, best first, with scores in place of weights. New ones are
// merged into them, which any number of keys fits.
#include "cuda/error.h"
#include "cuda/score_tile.cuh"
#include "cuda/weights.h"

namespace attend::cuda {
namespace {

struct TopList {
  std::int64_t* keys;
  float* scores;
  std::int64_t key_step, score_step, most;

  __device__ float& score(std::int64_t place) const { return scores[place * score_step]; }
  __device__ std::int64_t& key(std::int64_t place) const { return keys[place * key_step]; }

  // How many of the `count` in the list have at least this score. They come from lower keys, so they stay ahead
  // of one that is equal.
  __device__ std::int64_t ahead_of(float x, std::int64_t count) const {
    std::int64_t low = 0, high = count;
    while (low < high) {
      const std::int64_t middle = (low + high) / 2;
      if (score(middle) >= x) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  // Merges the scores of those lanes that are candidates, whose keys rise with the lane. All lanes of a warp;
  // returns how many there are now.
  __device__ std::int64_t merge(float x, std::int64_t j, std::uint32_t candidates, std::int64_t count) const {
    const int lane = threadIdx.x % 32;
    const bool mine = candidates >> lane & 1;
    int rank = 0;
    for (std::uint32_t rest = candidates; rest != 0; rest &= rest - 1) {
      const int from = __ffs(static_cast<int>(rest)) - 1;
      const float other = __shfl_sync(~0u, x, from);
      rank += other > x || (other == x && from < lane);
    }
    const std::int64_t place = mine ? rank + ahead_of(x, count) : most;
    std::int64_t first = place;
    for (int step = 1; step < 32; step *= 2) first = min(first, __shfl_xor_sync(~0u, first, step));
    // Those behind the first newcomer move, the last of them first.
    for (std::int64_t chunk = (count - 1) / 32 * 32; chunk >= first / 32 * 32 && chunk >= 0; chunk -= 32) {
      const std::int64_t at = chunk + lane;
      const bool there = at < count;
      const float old_score = there ? score(at) : 0.f;
      const std::int64_t old_key = there ? key(at) : 0;
      std::int64_t to = at;
      for (std::uint32_t rest = candidates; rest != 0; rest &= rest - 1)
        to += __shfl_sync(~0u, x, __ffs(static_cast<int>(rest)) - 1) > old_score;
      __syncwarp();
      if (there && to < most) {
        score(to) = old_score;
        key(to) = old_key;
      }
      __syncwarp();
    }
    if (place < most) {
      score(place) = x;
      key(place) = j;
    }
    __syncwarp();
    return min(count + __popc(candidates), most);
  }
};

struct RowsMemory {
  ScoreTile tile;
  double mass[kTileRows][32], moment[kTileRows][32];  // sums of p and of p (score - max) of each lane
  std::int64_t count[kTileRows];
  float least[kTileRows];  // what a newcomer must be larger than
};

__global__ void __launch_bounds__(kTileThreads)
    row_summary_kernel(const Problem p, const SettledPlaces settled, const SummaryTarget target,
                       std::int64_t row_tiles, std::int64_t total) {
  __shared__ RowsMemory memory;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const bool wants_top = target.top_keys.data != nullptr, wants_entropy = target.entropy.data != nullptr;
  for (std::int64_t index = blockIdx.x; index < total; index += gridDim.x) {
    const std::int64_t first = index % row_tiles * kTileRows, h = index / row_tiles % p.heads,
                       s = index / row_tiles / p.heads;
    const Head head(p, s, h);
    const std::int64_t queries = head.sequence.queries, row_begin = head.sequence.query_begin + first;
    if (first >= queries) continue;
    const int rows = static_cast<int>(min(std::int64_t{kTileRows}, queries - first));
    const auto query_of = [&](int row) { return row < rows ? first + row : std::int64_t{-1}; };
    const auto list_of = [&](int row) {
      return TopList{reinterpret_cast<std::int64_t*>(const_cast<char*>(Head::row_of(target.top_keys, s, h, row_begin + row))),
                     reinterpret_cast<float*>(const_cast<char*>(Head::row_of(target.top_weights, s, h, row_begin + row))),
                     target.top_keys.element, target.top_weights.element, target.top_k};
    };
    for (int r = 0; r < kRowsOfWarp; ++r) {
      const int row = warp * kRowsOfWarp + r;
      memory.mass[row][lane] = memory.moment[row][lane] = 0;
      memory.count[row] = 0;
      memory.least[row] = -CUDART_INF_F;
    }
    const std::int64_t begin = head.visible.keys_of(first).begin / kTileKeys * kTileKeys;
    const std::int64_t end = head.visible.keys_of(first + rows - 1).end;
    for (std::int64_t key = begin; key < end; key += kTileKeys) {
      memory.tile.make(p, head, query_of, key, end);
      const std::int64_t j = key + lane;
#pragma unroll 1
      for (int row = warp * kRowsOfWarp; row < min((warp + 1) * kRowsOfWarp, rows); ++row) {
        const float x = head.biased(p, head.visible.keys_of(first + row), first + row, j, memory.tile.s[row][lane]);
        if (wants_entropy && x != -CUDART_INF_F) {
          // Far below the largest p is 0, and 0 times -inf would be NaN.
          const float t = x - settled.of(s, h, head.sequence.query_begin, first + row).max, weight = expf(t);
          memory.mass[row][lane] += weight;
          memory.moment[row][lane] += weight * (t < -200.f ? -200.f : t);
        }
        if (!wants_top) continue;
        const std::uint32_t candidates = __ballot_sync(~0u, x > memory.least[row]);
        if (candidates == 0) continue;
        const TopList list = list_of(row);
        const std::int64_t count = list.merge(x, j, candidates, memory.count[row]);
        __syncwarp();
        if (lane == 0) {
          memory.count[row] = count;
          if (count == target.top_k) memory.least[row] = list.score(count - 1);
        }
        __syncwarp();
      }
    }
#pragma unroll 1
    for (int row = warp * kRowsOfWarp; row < min((warp + 1) * kRowsOfWarp, rows); ++row) {
      __syncwarp();
      const Settled state = settled.of(s, h, head.sequence.query_begin, first + row);
      const bool nan = isnan(state.inverse);
      if (wants_entropy) {
        double mass = memory.mass[row][lane], moment = memory.moment[row][lane];
        for (int step = 1; step < 32; step *= 2) {
          mass += __shfl_xor_sync(~0u, mass, step);
          moment += __shfl_xor_sync(~0u, moment, step);
        }
        // w = p / l and ln w = t - ln l, so -sum w ln w = (ln l sum p - sum p t) / l.
        const auto nats = static_cast<float>((state.log_sum * mass - moment) * state.inverse);
        float* const to = reinterpret_cast<float*>(const_cast<char*>(Head::row_of(target.entropy, s, h, row_begin + row)));
        if (lane == 0) *to = nan ? state.inverse : nats;
      }
      if (!wants_top) continue;
      const TopList list = list_of(row);
      for (std::int64_t place = lane; place < target.top_k; place += 32) {
        const bool there = place < memory.count[row] && !nan;
        if (!there) list.key(place) = -1;
        list.score(place) = there ? weight_of(list.score(place), state) : nan ? state.inverse : 0.f;
      }
    }
  }
}

}  // namespace

void portable_row_summary(plugin::Place place, const plugin::Attention& call, const Problem& problem,
                          const SettledPlaces& settled, const SummaryTarget& target) {
  const std::int64_t row_tiles = (call.longest_queries + kTileRows - 1) / kTileRows;
  const std::int64_t total = row_tiles * call.query_heads * call.sequence_count;
  if (total == 0 || !target.wants_rows()) return;
  row_summary_kernel<<<tile_blocks(total), kTileThreads, 0, static_cast<cudaStream_t>(place.stream)>>>(
      problem, settled, target, row_tiles, total);
  check(cudaGetLastError(), "launch the summary of rows");
}

}  // namespace attend::cuda
