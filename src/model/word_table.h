// A table of words in place, not copied: numbers, or the blocks of a GGUF file, of which rows are decoded as
// they are asked for. A text touches few rows.
#pragma once

#include <attend/blocks.h>
#include <attend/tensor.h>

#include <cstdint>
#include <optional>

namespace attend::model {

class WordTable {
 public:
  WordTable() = default;
  WordTable(ConstTensorView numbers) : numbers_(numbers) {}
  explicit WordTable(const StoredBlocks& blocks) : blocks_(blocks) {}

  std::int64_t rows() const { return blocks_ ? blocks_->view.rows : numbers_.size(0); }
  // Where the table is numbers; not given where it is blocks.
  ConstTensorView numbers() const { return numbers_; }
  const std::optional<StoredBlocks>& blocks() const noexcept { return blocks_; }

  // Rows [first, last), (rows, E).
  Tensor read(std::int64_t first, std::int64_t last, DType dtype) const;
  // Adds a row to a vector of E numbers.
  void add_row(std::int64_t row, float scale, float* to) const noexcept;
  void add_row(std::int64_t row, double scale, double* to) const noexcept;

 private:
  ConstTensorView numbers_{};
  std::optional<StoredBlocks> blocks_{};
};

// to[j] += scale row[j], of a table of numbers of any floating type.
void add_table_row(ConstTensorView table, std::int64_t row, float scale, float* to) noexcept;
void add_table_row(ConstTensorView table, std::int64_t row, double scale, double* to) noexcept;

}  // namespace attend::model
