// Queries, keys and values in the form that products of bf16 numbers read: as they lie where they fit, else
// through a copy that is made by all threads.
#pragma once

#include <algorithm>
#include <vector>

#include "attention/stored.h"
#include "base/parallel.h"
#include "kernels/attention/head_bf16.h"

namespace attend::detail {

// Rows of bf16 numbers side by side; with `pairs`, an even number of them, a 0 after the last of an odd row.
class Bf16Rows {
 public:
  Bf16Rows(ConstTensorView source, bool packed, bool pairs)
      : copy_(in_form(source, pairs)), rows_(copy_.dtype() == DType::bf16 ? copy_.view() : source, packed) {}

  std::int64_t row_stride() const noexcept { return rows_.row_stride(); }
  const std::uint16_t* rows_of(std::int64_t sequence, std::int64_t first_row,
                               std::int64_t head) const noexcept {
    return static_cast<const std::uint16_t*>(rows_.rows_of(sequence, first_row, head));
  }

 private:
  // Nothing (an empty tensor of f32) where the source is in the form already.
  static Tensor in_form(ConstTensorView source, bool pairs) {
    const int last = source.rank() - 1;
    const std::int64_t size = source.size(last), padded = pairs ? size + size % 2 : size;
    if (source.dtype() == DType::bf16 && rows_side_by_side(source) && padded == size) return {};
    Dims shape = source.shape();
    shape[last] = padded;
    Tensor copy(DType::bf16, shape);
    convert_rows(source, copy.view().slice(last, 0, size));
    return copy;
  }

  Tensor copy_;
  StoredRows rows_;
};

// The keys or values of all sequences, each pair of them woven once for all tiles of queries that will read
// it. Keeps references to layout and rows.
class WovenRows {
 public:
  WovenRows(const Layout& layout, const Bf16Rows& rows, std::int64_t columns)
      : layout_(layout), rows_(rows), columns_(columns) {
    for (const SequenceLayout& sequence : layout.sequences) {
      tiles_ += layout.key_heads * tiles_of(sequence);
      ends_.push_back(tiles_);
    }
    finite_.resize(static_cast<std::size_t>(tiles_));
  }

  std::int64_t size() const noexcept { return tiles_ * tile_size(); }

  // memory: size() numbers, aligned to 64 bytes.
  void weave_into(std::int32_t* memory) {
    pairs_ = memory;
    parallel_for(tiles_, [this](std::int64_t tile, int) noexcept {
      const auto s = std::upper_bound(ends_.begin(), ends_.end(), tile) - ends_.begin();
      const SequenceLayout& sequence = layout_.sequences[static_cast<std::size_t>(s)];
      const std::int64_t within = tile - first_tile(s), tiles = tiles_of(sequence);
      const std::int64_t key = within % tiles * kernels::kWovenTile;
      const std::int64_t keys = std::min(kernels::kWovenTile, sequence.key_count - key);
      const std::uint16_t* const rows = rows_.rows_of(s, sequence.key_begin + key, within / tiles);
      finite_[static_cast<std::size_t>(tile)] =
          kernels::weave(rows, rows_.row_stride(), keys, columns_, pairs_ + tile * tile_size());
    });
  }

  kernels::Woven of(std::int64_t s, std::int64_t key_head) const noexcept {
    const std::int64_t tile =
        first_tile(s) + key_head * tiles_of(layout_.sequences[static_cast<std::size_t>(s)]);
    return {pairs_ + tile * tile_size(), finite_.data() + tile};
  }

 private:
  static std::int64_t tiles_of(const SequenceLayout& sequence) noexcept {
    return (sequence.key_count + kernels::kWovenTile - 1) / kernels::kWovenTile;
  }
  std::int64_t first_tile(std::int64_t s) const noexcept {
    return s == 0 ? 0 : ends_[static_cast<std::size_t>(s - 1)];
  }
  std::int64_t tile_size() const noexcept { return kernels::kWovenTile / 2 * columns_; }

  const Layout& layout_;
  const Bf16Rows& rows_;
  const std::int64_t columns_;
  std::vector<std::int64_t> ends_;
  std::int64_t tiles_ = 0;
  std::vector<std::uint8_t> finite_;
  std::int32_t* pairs_ = nullptr;
};

}  // namespace attend::detail
