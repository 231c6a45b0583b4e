// The gradients of q, k and v in plain f32 multiply-adds, for every device, type, size and option: right before
// it is quick. A block owns 32 rows of one of the three and goes through everything that touches them, in
// ascending order, so that no sum depends on when something was computed.
#include "cuda/backward.h"
#include "cuda/error.h"
#include "cuda/gradient_tile.cuh"
#include "cuda/sight.h"

namespace attend::cuda {
namespace {

constexpr int kRows = kGradientRows, kThreads = kGradientThreads, kLanes = kGradientLanes;

enum class Of { q, k, v };

// What a block owns, and what its rows are multiplied with.
template <Of kOf>
struct Owned {
  static constexpr bool kQueries = kOf == Of::q;
  __device__ static const Placed& target(const BackwardProblem& b) {
    return kOf == Of::q ? b.d_q : kOf == Of::k ? b.d_k : b.d_v;
  }
  __device__ static const Placed& source(const BackwardProblem& b) {
    return kOf == Of::q ? b.problem.k : kOf == Of::k ? b.problem.q : b.d_out;
  }
  __device__ static const char* source_row(const BackwardProblem& b, const Head& head, std::int64_t s, std::int64_t h,
                                           std::int64_t row) {
    return kOf == Of::q   ? GradientTile::moved(head.k, b.problem.k, row)
           : kOf == Of::k ? GradientTile::moved(head.q, b.problem.q, row)
                          : Head::row_of(b.d_out, s, h, head.sequence.query_begin + row);
  }
};

// kColumns: columns of the gradient for each thread, 16 apart. slope_parts: (sequences, heads, tiles) or null.
template <Of kOf, int kColumns>
__global__ void __launch_bounds__(kThreads)
    gradient_kernel(const BackwardProblem b, std::int64_t owners, std::int64_t tiles, std::int64_t column_tiles,
                    std::int64_t total, double* slope_parts) {
  __shared__ GradientSlices slices;
  __shared__ float factors[kRows][kRows + 1];   // (owned, other)
  __shared__ alignas(8) float others[kRows][kColumns * kLanes];
  __shared__ std::uint32_t parts[kRows];        // which keys take part, for each query
  using My = Owned<kOf>;
  const Problem& p = b.problem;
  const int lane = threadIdx.x % kLanes, group = threadIdx.x / kLanes;
  const std::int64_t width = kOf == Of::v ? p.dv : p.d;

  for (std::int64_t index = blockIdx.x; index < total; index += gridDim.x) {
    const std::int64_t first_column = index % column_tiles * (kColumns * kLanes);
    const std::int64_t tile = index / column_tiles % tiles, own = tile * kRows;
    const std::int64_t owner = index / column_tiles / tiles % owners, s = index / column_tiles / tiles / owners;
    const Sequence sequence = p.each == nullptr ? p.same : p.each[s];
    const std::int64_t length = My::kQueries ? sequence.queries : sequence.keys;
    if (own >= length) {
      if (My::kQueries && slope_parts != nullptr && first_column == 0 && threadIdx.x == 0)
        slope_parts[index / column_tiles] = 0;
      continue;
    }
    const std::int64_t last = min(own + kRows, length) - 1;
    const std::int64_t columns = min(std::int64_t{kColumns * kLanes}, width - first_column);
    float sum[4][kColumns] = {};
    double slope = 0;

    const std::int64_t first_head = My::kQueries ? owner : owner * p.group, heads = My::kQueries ? 1 : p.group;
    for (std::int64_t h = first_head; h < first_head + heads; ++h) {
      const Head head(p, s, h);
      std::int64_t begin, end;
      if constexpr (My::kQueries) {
        begin = head.visible.keys_of(own).begin;
        end = head.visible.keys_of(last).end;
      } else {
        const QuerySpan seeing = queries_of(head.visible, own, last + 1, sequence.queries);
        begin = seeing.begin;
        end = seeing.end;
      }
      for (std::int64_t other = begin / kRows * kRows; other < end; other += kRows) {
        const std::int64_t query = My::kQueries ? own : other, key = My::kQueries ? other : own;
        GradientTile at;
        at.make<kOf != Of::v>(b, head, s, h, query, key, slices);
        __syncthreads();  // the tile before is done with what follows
#pragma unroll
        for (int r = 0; r < 4; ++r) {
          for (int x = 0; x < 2; ++x) {
            const int i = GradientTile::row(r), j = GradientTile::key(x);
            float factor;
            if constexpr (kOf == Of::v) {
              factor = at.weight[r][x];
            } else {
              factor = at.through[r][x];
            }
            (My::kQueries ? factors[i][j] : factors[j][i]) = factor;
            const std::uint32_t bits =
                __ballot_sync(~0u, at.part[r][x]) >> (threadIdx.x % 32 / kLanes * kLanes) & 0xffff;
            if (lane == 0) parts[i] = x == 0 ? bits : parts[i] | bits << kLanes;
            if constexpr (My::kQueries) {
              if (slope_parts != nullptr && at.part[r][x])
                slope -= double{at.change[r][x]} * double{head.distance(query + i, key + j)};
            }
          }
        }
        // 0 times a number is nothing, but 0 times NaN is NaN: then only pairs that take part are looked at.
        bool strange = false;
        const Placed& source = My::source(b);
        const char* const rows = My::source_row(b, head, s, h, other);
        const std::int64_t there = (My::kQueries ? sequence.keys : sequence.queries) - other;
        for (int x = threadIdx.x; x < kRows * kColumns * kLanes; x += kThreads) {
          const int row = x / (kColumns * kLanes), column = x % (kColumns * kLanes);
          const float value = column < columns && row < there
                                  ? load_float(rows, source.number,
                                               row * source.row + (first_column + column) * source.element)
                                  : 0.f;
          strange |= !isfinite(value);
          others[row][column] = value;
        }
        strange = __syncthreads_or(strange) != 0;
#pragma unroll 4
        for (int o = 0; o < kRows; ++o) {
#pragma unroll
          for (int r = 0; r < 4; ++r) {
            const int mine = group * 4 + r;
            if (strange && (My::kQueries ? parts[mine] >> o & 1 : parts[o] >> mine & 1) == 0) continue;
            const float factor = factors[mine][o];
#pragma unroll
            for (int x = 0; x < kColumns; ++x) sum[r][x] = fmaf(factor, others[o][lane + x * kLanes], sum[r][x]);
          }
        }
      }
    }

    const Placed& target = My::target(b);
    const std::int64_t row_begin = My::kQueries ? sequence.query_begin : sequence.key_begin;
    for (int r = 0; r < 4 && target.data != nullptr; ++r) {
      const std::int64_t row = own + group * 4 + r;
      if (row > last) continue;
      char* const to = const_cast<char*>(Head::row_of(target, s, owner, row_begin + row));
      for (int x = 0; x < kColumns; ++x) {
        const std::int64_t column = first_column + lane + x * kLanes;
        if (column < width)
          store_float(to, target.number, column * target.element, kOf == Of::v ? sum[r][x] : sum[r][x] * p.scale);
      }
    }
    if (My::kQueries && slope_parts != nullptr && first_column == 0) {
      double* const all = reinterpret_cast<double*>(&others[0][0]);
      __syncthreads();
      all[threadIdx.x] = slope;
      for (int half = kThreads / 2; half > 0; half /= 2) {
        __syncthreads();
        if (static_cast<int>(threadIdx.x) < half) all[threadIdx.x] += all[threadIdx.x + half];
      }
      if (threadIdx.x == 0) slope_parts[index / column_tiles] = all[0];
      __syncthreads();
    }
  }
}

// parts: (sequences, heads, tiles).
__global__ void slope_kernel(const double* parts, std::int64_t sequences, std::int64_t heads, std::int64_t tiles,
                             PerHeadTarget target) {
  __shared__ double all[kThreads];
  const std::int64_t h = blockIdx.x;
  double sum = 0;
  for (std::int64_t s = 0; s < sequences; ++s) {
    for (std::int64_t t = threadIdx.x; t < tiles; t += kThreads) sum += parts[(s * heads + h) * tiles + t];
  }
  all[threadIdx.x] = sum;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (static_cast<int>(threadIdx.x) < half) all[threadIdx.x] += all[threadIdx.x + half];
  }
  if (threadIdx.x == 0) store_double(target.data, target.number, h * target.stride, all[0]);
}

template <Of kOf, int kColumns>
void launch(plugin::Place place, const plugin::Attention& call, const BackwardProblem& backward, double* slope_parts) {
  constexpr bool kQueries = kOf == Of::q;
  const std::int64_t owners = kQueries ? call.query_heads : call.key_heads;
  const std::int64_t tiles = ((kQueries ? call.longest_queries : call.longest_keys) + kRows - 1) / kRows;
  const std::int64_t width = kOf == Of::v ? call.dv : call.d;
  const std::int64_t column_tiles = max((width + kColumns * kLanes - 1) / (kColumns * kLanes), std::int64_t{1});
  const std::int64_t total = tiles * column_tiles * owners * call.sequence_count;
  if (total == 0) return;
  gradient_kernel<kOf, kColumns><<<static_cast<unsigned>(min(total, std::int64_t{1} << 30)), kThreads, 0,
                                   static_cast<cudaStream_t>(place.stream)>>>(backward, owners, tiles, column_tiles,
                                                                              total, slope_parts);
  check(cudaGetLastError(), "launch the portable gradients");
}

template <Of kOf>
void gradient(plugin::Place place, const plugin::Attention& call, const BackwardProblem& backward,
              double* slope_parts = nullptr) {
  const std::int64_t width = kOf == Of::v ? call.dv : call.d;
  if (width <= 4 * kLanes) return launch<kOf, 4>(place, call, backward, slope_parts);
  launch<kOf, 8>(place, call, backward, slope_parts);
}

}  // namespace

void portable_backward(plugin::Place place, const plugin::Attention& call, const BackwardProblem& backward,
                       const PerHeadTarget& slopes) {
  const std::int64_t tiles = (call.longest_queries + kRows - 1) / kRows;
  const std::int64_t count = call.sequence_count * call.query_heads * tiles;
  Scratch parts;
  if (slopes.data != nullptr) parts = Scratch(place, static_cast<std::size_t>(count) * sizeof(double));
  if (backward.d_q.data != nullptr || parts.data() != nullptr)
    gradient<Of::q>(place, call, backward, parts.data<double>());
  if (backward.d_k.data != nullptr) gradient<Of::k>(place, call, backward);
  if (backward.d_v.data != nullptr) gradient<Of::v>(place, call, backward);
  if (slopes.data == nullptr || call.query_heads == 0) return;
  slope_kernel<<<static_cast<unsigned>(call.query_heads), kThreads, 0, static_cast<cudaStream_t>(place.stream)>>>(
      parts.data<double>(), count == 0 ? 0 : call.sequence_count, call.query_heads, tiles, slopes);
  check(cudaGetLastError(), "launch the gradient of the slopes");
}

}  // namespace attend::cuda
