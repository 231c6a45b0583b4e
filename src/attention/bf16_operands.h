// Queries, keys and values in the form that products of bf16 numbers read: as they lie where they fit, else
// through a copy that is made by all threads.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "attention/stored.h"
#include "base/parallel.h"
#include "base/rows.h"
#include "base/scratch.h"
#include "kernels/attention/head_bf16.h"

namespace attend::detail {

// Rows of bf16 numbers side by side, as many as `multiple` divides: others are followed by zeros.
class Bf16Rows {
 public:
  Bf16Rows(ConstTensorView source, bool packed, std::int64_t multiple)
      : rows_(in_form(source, multiple), packed) {}

  std::int64_t row_stride() const noexcept { return rows_.row_stride(); }
  const std::uint16_t* rows_of(std::int64_t sequence, std::int64_t first_row,
                               std::int64_t head) const noexcept {
    return static_cast<const std::uint16_t*>(rows_.rows_of(sequence, first_row, head));
  }

 private:
  // The source, or a copy in memory that is not cleared and that the thread may keep for its next call: to
  // touch a page for the first time takes as long as to multiply what is on it.
  ConstTensorView in_form(ConstTensorView source, std::int64_t multiple) {
    const int last = source.rank() - 1;
    const std::int64_t size = source.size(last), padded = (size + multiple - 1) / multiple * multiple;
    if (source.dtype() == DType::bf16 && rows_side_by_side(source) && padded == size) return source;
    Dims shape = source.shape();
    shape[last] = padded;
    copy_.emplace(static_cast<std::size_t>(element_count(shape)) * sizeof(bfloat16));
    const TensorView copy(copy_->as<bfloat16>(), shape);
    convert_rows(source, copy.slice(last, 0, size));
    if (padded == size) return copy;
    bfloat16* const numbers = copy.data<bfloat16>();
    for_each_row(row_count(copy), padded, [&](std::int64_t row, int) noexcept {
      std::fill(numbers + row * padded + size, numbers + (row + 1) * padded, bfloat16{});
    });
    return copy;
  }

  std::optional<Scratch> copy_;
  StoredRows rows_;
};

// How a kernel wants rows woven, in the order that kernels::Woven or it itself describes: n columns become
// `columns`.
struct Weaving {
  decltype(&kernels::weave) weave = kernels::weave;
  std::int64_t columns = 0;
};

// The keys or values of all sequences, woven once for all tiles of queries that will read them. Keeps
// references to layout and rows.
class WovenRows {
 public:
  WovenRows(const Layout& layout, const Bf16Rows& rows, std::int64_t n)
      : WovenRows(layout, rows, n, Weaving{.columns = n}) {}
  WovenRows(const Layout& layout, const Bf16Rows& rows, std::int64_t n, Weaving weaving)
      : layout_(layout), rows_(rows), n_(n), weaving_(weaving) {
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
      const std::int64_t within = tile - first_tile(s),
                         tiles = tiles_of(layout_.sequences[static_cast<std::size_t>(s)]);
      finite_[static_cast<std::size_t>(tile)] =
          weave_tile(s, within / tiles, within % tiles, pairs_ + tile * tile_size());
    });
  }

  kernels::Woven of(std::int64_t s, std::int64_t key_head) const noexcept {
    const std::int64_t tile =
        first_tile(s) + key_head * tiles_of(layout_.sequences[static_cast<std::size_t>(s)]);
    return {pairs_ + tile * tile_size(), finite_.data() + tile};
  }

  // One head alone. memory: head_size() numbers; finite: one for each of its tiles.
  std::int64_t head_size(std::int64_t keys) const noexcept { return tiles_of(keys) * tile_size(); }
  void weave_head(std::int64_t s, std::int64_t key_head, std::int32_t* memory,
                  std::uint8_t* finite) const noexcept {
    const std::int64_t tiles = tiles_of(layout_.sequences[static_cast<std::size_t>(s)]);
    for (std::int64_t tile = 0; tile < tiles; ++tile)
      finite[tile] = weave_tile(s, key_head, tile, memory + tile * tile_size());
  }

 private:
  static std::int64_t tiles_of(std::int64_t keys) noexcept {
    return (keys + kernels::kWovenTile - 1) / kernels::kWovenTile;
  }
  static std::int64_t tiles_of(const SequenceLayout& sequence) noexcept {
    return tiles_of(sequence.key_count);
  }
  bool weave_tile(std::int64_t s, std::int64_t key_head, std::int64_t tile, std::int32_t* to) const noexcept {
    const SequenceLayout& sequence = layout_.sequences[static_cast<std::size_t>(s)];
    const std::int64_t key = tile * kernels::kWovenTile;
    const std::int64_t keys = std::min(kernels::kWovenTile, sequence.key_count - key);
    const std::uint16_t* const rows = rows_.rows_of(s, sequence.key_begin + key, key_head);
    return weaving_.weave(rows, rows_.row_stride(), keys, n_, to);
  }
  std::int64_t first_tile(std::int64_t s) const noexcept {
    return s == 0 ? 0 : ends_[static_cast<std::size_t>(s - 1)];
  }
  std::int64_t tile_size() const noexcept { return kernels::kWovenTile / 2 * weaving_.columns; }

  const Layout& layout_;
  const Bf16Rows& rows_;
  const std::int64_t n_;
  const Weaving weaving_;
  std::vector<std::int64_t> ends_;
  std::int64_t tiles_ = 0;
  std::vector<std::uint8_t> finite_;
  std::int32_t* pairs_ = nullptr;
};

// Rows of short sequences, woven by each thread for itself, head after head: that takes less than waiting for
// the others. Keeps a reference to rows.
class OwnWovenRows {
 public:
  static constexpr std::int64_t kMostKeys = 2 * kernels::kWovenTile;

  OwnWovenRows(const WovenRows& rows, int lanes) : rows_(rows), lanes_(static_cast<std::size_t>(lanes)) {}

  // memory: rows.head_size(kMostKeys) numbers of the lane's own, that nobody else writes.
  kernels::Woven of(std::int64_t s, std::int64_t key_head, int lane, std::int32_t* memory) noexcept {
    Lane& own = lanes_[static_cast<std::size_t>(lane)];
    if (own.sequence != s || own.key_head != key_head) rows_.weave_head(s, key_head, memory, own.finite);
    own.sequence = s;
    own.key_head = key_head;
    return {memory, own.finite};
  }

 private:
  struct alignas(64) Lane {  // a line of the cache
    std::int64_t sequence = -1, key_head = -1;
    std::uint8_t finite[kMostKeys / kernels::kWovenTile] = {};
  };

  const WovenRows& rows_;
  std::vector<Lane> lanes_;
};

}  // namespace attend::detail
