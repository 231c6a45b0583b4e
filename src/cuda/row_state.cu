#include "cuda/row_state.h"

#include <math_constants.h>

#include "cuda/elements.cuh"
#include "cuda/error.h"
#include "cuda/walk.cuh"

namespace attend::cuda {
namespace {

struct StateAt {
  const char *max, *sum;
  Number number;
  Walk max_walk, sum_walk;

  explicit StateAt(const plugin::RowState& state)
      : max(static_cast<const char*>(state.max.data)),
        sum(static_cast<const char*>(state.sum.data)),
        number(state.max.number),
        max_walk(state.max),
        sum_walk(state.sum) {}
  __device__ double2 operator()(std::int64_t row) const {
    return {load_double(max, number, max_walk.offset(row)), load_double(sum, number, sum_walk.offset(row))};
  }
};

__global__ void log_sum_exp_kernel(StateAt state, char* out, Number number, Walk walk, std::int64_t count) {
  for (std::int64_t i = first_index(); i < count; i += index_step()) {
    const double2 row = state(i);
    store_double(out, number, walk.offset(i), row.y == 0 ? -CUDART_INF : row.x + log(row.y));
  }
}

// The row that a walk over (.., rows, columns) is in.
__global__ void merge_kernel(const char* a, Walk a_walk, StateAt state_a, const char* b, Walk b_walk,
                             StateAt state_b, char* out, Number number, Walk walk, std::int64_t rows,
                             std::int64_t columns, StateAt state) {
  for (std::int64_t i = first_index(); i < rows; i += index_step()) {
    const double2 one = state_a(i), other = state_b(i);
    const double max = one.x > other.x || isnan(one.x) ? one.x : other.x;
    const double part_a = one.y == 0 ? 0 : exp(one.x - max) * one.y;
    const double part_b = other.y == 0 ? 0 : exp(other.x - max) * other.y;
    const double sum = part_a + part_b;
    const double share_a = part_a == 0 ? 0 : part_a / sum, share_b = part_b == 0 ? 0 : part_b / sum;
    for (std::int64_t c = 0; c < columns; ++c) {
      // A part without a share is left out, so that whatever its rows hold cannot matter.
      const std::int64_t at = i * columns + c;
      double value = 0;
      if (share_a != 0) value += share_a * load_double(a, number, a_walk.offset(at));
      if (share_b != 0) value += share_b * load_double(b, number, b_walk.offset(at));
      store_double(out, number, walk.offset(at), value);
    }
    store_double(const_cast<char*>(state.max), state.number, state.max_walk.offset(i), max);
    store_double(const_cast<char*>(state.sum), state.number, state.sum_walk.offset(i), sum);
  }
}

}  // namespace

void log_sum_exp(plugin::Place place, const plugin::RowState& state, const plugin::View& out) {
  const Walk walk(out);
  const std::int64_t count = walk.count();
  if (count == 0) return;
  log_sum_exp_kernel<<<walk_blocks(count), kWalkThreads, 0, static_cast<cudaStream_t>(place.stream)>>>(
      StateAt(state), static_cast<char*>(out.data), out.number, walk, count);
  check(cudaGetLastError(), "launch log_sum_exp");
}

void merge_attention(plugin::Place place, const plugin::View& out_a, const plugin::RowState& a,
                     const plugin::View& out_b, const plugin::RowState& b, const plugin::View& out,
                     const plugin::RowState& state) {
  const std::int64_t rows = Walk(state.max).count();
  if (rows == 0) return;
  merge_kernel<<<walk_blocks(rows), kWalkThreads, 0, static_cast<cudaStream_t>(place.stream)>>>(
      static_cast<const char*>(out_a.data), Walk(out_a), StateAt(a), static_cast<const char*>(out_b.data),
      Walk(out_b), StateAt(b), static_cast<char*>(out.data), out.number, Walk(out), rows,
      out.shape[out.rank - 1], StateAt(state));
  check(cudaGetLastError(), "launch merge_attention");
}

}  // namespace attend::cuda
