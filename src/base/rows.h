// A tensor as rows along its last axis, whatever its strides.
#pragma once

#include <attend/tensor.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "base/detail.h"
#include "base/for_each.h"
#include "base/parallel.h"

namespace attend::detail {

inline std::int64_t row_size(ConstTensorView view) { return view.size(view.rank() - 1); }
inline std::int64_t row_stride(ConstTensorView view) { return view.stride(view.rank() - 1); }
inline std::int64_t row_count(ConstTensorView view) {
  return element_count(view.shape().without(view.rank() - 1));
}

// Where row number `row`, in row-major order, starts; in elements.
inline std::int64_t row_offset(ConstTensorView view, std::int64_t row) noexcept {
  std::int64_t offset = 0;
  for (int axis = view.rank() - 2; axis >= 0; --axis) {
    offset += row % view.size(axis) * view.stride(axis);
    row /= view.size(axis);
  }
  return offset;
}

// Row number `row` by itself, (n).
template <class Pointer>
BasicView<Pointer> row_view(BasicView<Pointer> view, std::int64_t row) {
  using Byte = std::conditional_t<std::is_const_v<std::remove_pointer_t<Pointer>>, const char, char>;
  const std::int64_t bytes = row_offset(view, row) * static_cast<std::int64_t>(size_of(view.dtype()));
  Byte* const start = static_cast<Byte*>(view.raw()) + (row_size(view) > 0 ? bytes : 0);
  return {start, view.dtype(), {row_size(view)}, {row_stride(view)}, view.device()};
}

// Rows in chunks: a thread should have some microseconds of work for each claim.
struct RowChunks {
  RowChunks(std::int64_t row_count, std::int64_t row_size)
      : rows(row_count),
        block(std::max<std::int64_t>(1, 4096 / std::max<std::int64_t>(1, row_size))),
        numbers(row_count * row_size) {}
  std::int64_t count() const { return (rows + block - 1) / block; }
  // As many as pay: a thread takes some microseconds to come.
  int lanes() const { return lanes_for(std::min(count(), numbers / 8192)); }
  std::int64_t rows, block, numbers;
};

// Calls body(row, lane) for every row; lane is below `lanes`.
template <class Body>
void for_each_row(const RowChunks& chunks, int lanes, const Body& body) {
  parallel_for(chunks.count(), lanes, Sharing::neighbours, [&](std::int64_t chunk, int lane) noexcept {
    const std::int64_t end = std::min(chunks.rows, (chunk + 1) * chunks.block);
    for (std::int64_t row = chunk * chunks.block; row < end; ++row) body(row, lane);
  });
}

// Rows without elements are left out: they may have no memory to point into.
template <class Body>
void for_each_row(std::int64_t rows, std::int64_t size, const Body& body) {
  if (size == 0) return;
  const RowChunks chunks(rows, size);
  for_each_row(chunks, chunks.lanes(), body);
}

}  // namespace attend::detail
