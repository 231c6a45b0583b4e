// Drives operations that turn rows into a row: any strides and storage types outside, contiguous rows of f32
// or f64 inside.
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "base/rows.h"
#include "kernels/convert/copy_row.h"

namespace attend::detail {

// 16-bit types compute in f32, f64 in itself.
template <Element T>
using Computed = std::conditional_t<std::is_same_v<T, double>, double, float>;

// For each row calls body(from, to, row): from[i] is the row of inputs[i], `to` that of out, all of out's
// shape and of type T; row is its number. Rows that are contiguous and wide enough are handed out where they
// lie, others through scratch memory; where out is an input, so may `to` be. body is noexcept.
template <Element T, std::size_t kInputs, class Body>
void transform_rows(const std::array<ConstTensorView, kInputs>& inputs, TensorView out, const Body& body) {
  using Number = Computed<T>;
  const std::int64_t n = row_size(out);
  if (out.count() == 0) return;
  const auto direct = [&](ConstTensorView view) {
    return std::is_same_v<T, Number> && (row_stride(view) == 1 || n == 1);
  };
  const RowChunks chunks(row_count(out), n);
  const int lanes = chunks.lanes();
  // One row of scratch for each input; the first serves the output as well, once it was read.
  const bool all_direct = [&] {
    for (const ConstTensorView& input : inputs) {
      if (!direct(input)) return false;
    }
    return direct(out);
  }();
  std::vector<Number> scratch(all_direct ? 0 : static_cast<std::size_t>(n * lanes) * kInputs);
  for_each_row(chunks, lanes, [&](std::int64_t row, int lane) noexcept {
    Number* const staged = scratch.data() + (all_direct ? 0 : lane * n * static_cast<std::int64_t>(kInputs));
    std::array<const Number*, kInputs> from;
    for (std::size_t i = 0; i < kInputs; ++i) {
      const T* const source = static_cast<const T*>(inputs[i].raw()) + row_offset(inputs[i], row);
      if constexpr (std::is_same_v<T, Number>) {
        if (direct(inputs[i])) {
          from[i] = source;
          continue;
        }
      }
      Number* const place = staged + static_cast<std::int64_t>(i) * n;
      copy_row(source, row_stride(inputs[i]), n, place, 1);
      from[i] = place;
    }
    T* const target = static_cast<T*>(out.raw()) + row_offset(out, row);
    if constexpr (std::is_same_v<T, Number>) {
      if (direct(out)) return body(from, target, row);
    }
    body(from, staged, row);
    copy_row(staged, 1, n, target, row_stride(out));
  });
}

}  // namespace attend::detail
