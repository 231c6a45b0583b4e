#include "model/word_table.h"

#include "base/rows.h"

namespace attend::model {
namespace {

template <class From, class To>
void add_numbers(const From* from, std::int64_t n, To scale, To* to) noexcept {
  for (std::int64_t j = 0; j < n; ++j) to[j] += scale * static_cast<To>(widen(from[j]));
}

template <class To>
void add_row_of_numbers(ConstTensorView table, std::int64_t row, To scale, To* to) noexcept {
  const std::int64_t n = table.size(1);
  const auto at = [&]<class T>(const T*) {
    return static_cast<const T*>(table.raw()) + row * table.stride(0);
  };
  switch (table.dtype()) {
    case DType::f32:
      return add_numbers(at(static_cast<const float*>(nullptr)), n, scale, to);
    case DType::f64:
      return add_numbers(at(static_cast<const double*>(nullptr)), n, scale, to);
    case DType::bf16:
      return add_numbers(at(static_cast<const bfloat16*>(nullptr)), n, scale, to);
    case DType::f16:
      return add_numbers(at(static_cast<const float16*>(nullptr)), n, scale, to);
    default:
      return;
  }
}

template <class To>
void add_row_of_blocks(const StoredBlocks& table, std::int64_t row, To scale, To* to) noexcept {
  constexpr std::int64_t kMostNumbers = 256;
  float numbers[kMostNumbers];
  const std::int64_t size = numbers_of(table.view.type), count = table.view.columns / size;
  for (std::int64_t b = 0; b < count; ++b) {
    table.decode(table.view.row(row) + b * bytes_of(table.view.type), 1, numbers);
    add_numbers(numbers, size, scale, to + b * size);
  }
}

}  // namespace

void add_table_row(ConstTensorView table, std::int64_t row, float scale, float* to) noexcept {
  add_row_of_numbers(table, row, scale, to);
}
void add_table_row(ConstTensorView table, std::int64_t row, double scale, double* to) noexcept {
  add_row_of_numbers(table, row, scale, to);
}

void WordTable::add_row(std::int64_t row, float scale, float* to) const noexcept {
  blocks_ ? add_row_of_blocks(*blocks_, row, scale, to) : add_row_of_numbers(numbers_, row, scale, to);
}
void WordTable::add_row(std::int64_t row, double scale, double* to) const noexcept {
  blocks_ ? add_row_of_blocks(*blocks_, row, scale, to) : add_row_of_numbers(numbers_, row, scale, to);
}

Tensor WordTable::read(std::int64_t first, std::int64_t last, DType dtype) const {
  if (!blocks_) return copy_of(numbers_.slice(0, first, last), dtype);
  Tensor rows(DType::f32, {last - first, blocks_->view.columns});
  for (std::int64_t row = first; row < last; ++row)
    blocks_->read_row(row, rows.values<float>().data() + (row - first) * blocks_->view.columns);
  return dtype == DType::f32 ? std::move(rows) : copy_of(rows, dtype);
}

}  // namespace attend::model
