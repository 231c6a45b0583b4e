// What the kernels of weights on demand read and write: chosen rows of one stage, and summaries of the
// weights of all rows. One head of one sequence at a time, as raw pointers.
#pragma once

#include <attend/stage.h>

#include <cstdint>

#include "kernels/attention/cells.h"
#include "kernels/attention/head_bf16.h"

namespace attend::kernels {

// The (maximum, sum) of each row, of query 0 on. Null: not known, to be computed.
template <class T>
struct RowStateInput {
  const T* max = nullptr;
  const T* sum = nullptr;
  std::int64_t max_stride = 0, sum_stride = 0;
};

// Where the summaries of some rows of a head go. Null: not wanted.
template <class T>
struct SummaryTarget {
  // One for each row, written. top_*: (queries, top_k), the elements of a row side by side.
  std::int64_t top_k = 0;
  std::int64_t* top_keys = nullptr;
  T* top_weights = nullptr;
  std::int64_t top_stride = 0;
  T* entropy = nullptr;  // (queries)
  std::int64_t entropy_stride = 0;

  // Of all rows together: added to, in float64, so that the weights of 65536 rows add up without loss.
  double* received = nullptr;  // (keys)
  // (cells, columns.count), from cell rows.holding(first row) on: the sum of each cell, or its maximum.
  double* map = nullptr;
  bool map_is_max = false;
  Cells rows, columns;
  std::int64_t first_cell = 0;
};

// The larger of two, where NaN is larger than any number.
inline double larger(double a, double b) noexcept { return b > a || b != b ? b : a; }

// Summaries of rows [first, last), first a multiple of summary_tile_queries(), or of amx_tile_queries() where
// bf16 is multiplied by tiles. scratch: 64-byte aligned.
void summarize_fused(const Head<float>& head, const RowStateInput<float>& state, std::int64_t first,
                     std::int64_t last, const SummaryTarget<float>& target, float* scratch) noexcept;
void summarize_fused(const HeadBf16& head, const RowStateInput<float>& state, std::int64_t first,
                     std::int64_t last, const SummaryTarget<float>& target, float* scratch) noexcept;
std::int64_t summary_tile_queries() noexcept;
std::int64_t scratch_size_summary(std::int64_t d, std::int64_t top_k) noexcept;

// scratch: `keys` numbers.
void summarize_reference(const Head<double>& head, const RowStateInput<double>& state, std::int64_t first,
                         std::int64_t last, const SummaryTarget<double>& target, double* scratch) noexcept;

// Rows `queries`, at most stage_tile_queries() or amx_tile_queries() of them, in any order: out (count,
// keys). scratch: 64-byte aligned.
void stage_rows_fused(const Head<float>& head, const RowStateInput<float>& state, const std::int64_t* queries,
                      std::int64_t count, Stage stage, float* out, std::int64_t out_stride,
                      float* scratch) noexcept;
void stage_rows_fused(const HeadBf16& head, const RowStateInput<float>& state, const std::int64_t* queries,
                      std::int64_t count, Stage stage, float* out, std::int64_t out_stride,
                      float* scratch) noexcept;
std::int64_t stage_tile_queries() noexcept;
std::int64_t scratch_size_stage_rows(std::int64_t d) noexcept;

}  // namespace attend::kernels
