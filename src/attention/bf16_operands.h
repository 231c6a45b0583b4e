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

// When rows that are not in the form become it: all of them by all threads before anybody reads one; or, of
// f32, by those who read them, a few at a time, which for few readers takes less than a pass over memory.
enum class Rounding : std::uint8_t { at_once, on_request };

// Rows of bf16 numbers side by side, as many as `multiple` divides: others are followed by zeros.
class Bf16Rows {
 public:
  Bf16Rows(ConstTensorView source, bool packed, std::int64_t multiple, Rounding rounding = Rounding::at_once)
      : size_(source.size(source.rank() - 1)),
        padded_((size_ + multiple - 1) / multiple * multiple),
        on_request_(rounding == Rounding::on_request && source.dtype() == DType::f32 &&
                    rows_side_by_side(source)),
        rows_(on_request_ ? source : in_form(source), packed) {}

  std::int64_t row_stride() const noexcept { return on_request_ ? padded_ : rows_.row_stride(); }
  // Not of rows that are rounded on request.
  const std::uint16_t* rows_of(std::int64_t sequence, std::int64_t first_row,
                               std::int64_t head) const noexcept {
    return static_cast<const std::uint16_t*>(rows_.rows_of(sequence, first_row, head));
  }

  // The same for `count` rows, which are rounded into memory of room(count) numbers where that is needed.
  const std::uint16_t* some_rows(std::int64_t sequence, std::int64_t first_row, std::int64_t head,
                                 std::int64_t count, std::uint16_t* memory) const noexcept {
    const void* const rows = rows_.rows_of(sequence, first_row, head);
    if (!on_request_) return static_cast<const std::uint16_t*>(rows);
    kernels::narrow_rows(static_cast<const float*>(rows), rows_.row_stride(), count, size_,
                         reinterpret_cast<bfloat16*>(memory), padded_);
    return memory;
  }
  std::int64_t room(std::int64_t count) const noexcept { return on_request_ ? count * padded_ : 0; }

 private:
  // The source itself where it is in the form already, else a copy in copy_.
  ConstTensorView in_form(ConstTensorView source) {
    if (source.dtype() == DType::bf16 && rows_side_by_side(source) && padded_ == size_) return source;
    const int last = source.rank() - 1;
    Dims shape = source.shape();
    shape[last] = padded_;
    copy_.emplace(static_cast<std::size_t>(element_count(shape)) * sizeof(bfloat16));
    bfloat16* const numbers = copy_->as<bfloat16>();
    const TensorView copy(numbers, shape);
    convert_rows(source, copy.slice(last, 0, size_));
    if (padded_ == size_) return copy;
    for_each_row(row_count(copy), padded_, [&](std::int64_t row, int) noexcept {
      std::fill(numbers + row * padded_ + size_, numbers + (row + 1) * padded_, bfloat16{});
    });
    return copy;
  }

  std::int64_t size_, padded_;
  bool on_request_;
  std::optional<Scratch> copy_{};
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

  // memory: size() numbers, aligned to 64 bytes. Not of rows that are rounded on request.
  void weave_into(std::int32_t* memory) {
    pairs_ = memory;
    parallel_for(tiles_, [this](std::int64_t tile, int) noexcept {
      const auto s = std::upper_bound(ends_.begin(), ends_.end(), tile) - ends_.begin();
      const std::int64_t within = tile - first_tile(s),
                         tiles = tiles_of(layout_.sequences[static_cast<std::size_t>(s)]);
      finite_[static_cast<std::size_t>(tile)] =
          weave_tile(s, within / tiles, within % tiles, pairs_ + tile * tile_size(), nullptr);
    });
  }

  kernels::Woven of(std::int64_t s, std::int64_t key_head) const noexcept {
    const std::int64_t tile =
        first_tile(s) + key_head * tiles_of(layout_.sequences[static_cast<std::size_t>(s)]);
    return {pairs_ + tile * tile_size(), finite_.data() + tile};
  }

  // One head alone. memory: head_size() numbers; finite: one for each of its tiles; room: for the rows of a
  // tile, where they are rounded on request.
  std::int64_t head_size(std::int64_t keys) const noexcept { return tiles_of(keys) * tile_size(); }
  void weave_head(std::int64_t s, std::int64_t key_head, std::int32_t* memory, std::uint8_t* finite,
                  std::uint16_t* room) const noexcept {
    const std::int64_t tiles = tiles_of(layout_.sequences[static_cast<std::size_t>(s)]);
    for (std::int64_t tile = 0; tile < tiles; ++tile)
      finite[tile] = weave_tile(s, key_head, tile, memory + tile * tile_size(), room);
  }

 private:
  static std::int64_t tiles_of(std::int64_t keys) noexcept {
    return (keys + kernels::kWovenTile - 1) / kernels::kWovenTile;
  }
  static std::int64_t tiles_of(const SequenceLayout& sequence) noexcept {
    return tiles_of(sequence.key_count);
  }
  bool weave_tile(std::int64_t s, std::int64_t key_head, std::int64_t tile, std::int32_t* to,
                  std::uint16_t* room) const noexcept {
    const SequenceLayout& sequence = layout_.sequences[static_cast<std::size_t>(s)];
    const std::int64_t key = tile * kernels::kWovenTile;
    const std::int64_t keys = std::min(kernels::kWovenTile, sequence.key_count - key);
    const std::uint16_t* const rows = rows_.some_rows(s, sequence.key_begin + key, key_head, keys, room);
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

// Keys and values of short sequences, rounded and woven by each thread for itself, head after head: that
// takes less than waiting for the others. Keeps references to layout, keys and values.
class OwnHeads {
 public:
  static constexpr std::int64_t kMostKeys = 2 * kernels::kWovenTile;

  struct Head {
    const std::uint16_t* k;
    kernels::Woven values;
  };

  // rows: those that are woven.
  OwnHeads(const Layout& layout, const Bf16Rows& keys, const Bf16Rows& rows, const WovenRows& values,
           int lanes)
      : layout_(layout),
        keys_(keys),
        values_(values),
        woven_size_(values.head_size(layout.longest_keys)),
        keys_size_(whole_lines(keys.room(layout.longest_keys))),
        tile_size_(whole_lines(rows.room(std::min(kernels::kWovenTile, layout.longest_keys)))),
        lanes_(static_cast<std::size_t>(lanes)) {}

  // Floats of memory that a lane needs.
  std::int64_t room() const noexcept { return woven_size_ + (keys_size_ + tile_size_) / 2; }

  // memory: the lane's own, that nobody else writes.
  Head of(std::int64_t s, std::int64_t key_head, int lane, float* memory) noexcept {
    Lane& own = lanes_[static_cast<std::size_t>(lane)];
    auto* const woven = reinterpret_cast<std::int32_t*>(memory);
    auto* const keys = reinterpret_cast<std::uint16_t*>(woven + woven_size_);
    if (own.sequence != s || own.key_head != key_head) {
      const SequenceLayout& at = layout_.sequences[static_cast<std::size_t>(s)];
      own.k = keys_.some_rows(s, at.key_begin, key_head, at.key_count, keys);
      values_.weave_head(s, key_head, woven, own.finite, keys + keys_size_);
      own.sequence = s;
      own.key_head = key_head;
    }
    return {own.k, {woven, own.finite}};
  }

 private:
  struct alignas(64) Lane {  // a line of the cache
    std::int64_t sequence = -1, key_head = -1;
    const std::uint16_t* k = nullptr;
    std::uint8_t finite[kMostKeys / kernels::kWovenTile] = {};
  };
  // Numbers of 16 bits, as many as fill lines of the cache.
  static std::int64_t whole_lines(std::int64_t numbers) { return (numbers + 31) / 32 * 32; }

  const Layout& layout_;
  const Bf16Rows& keys_;
  const WovenRows& values_;
  const std::int64_t woven_size_, keys_size_, tile_size_;
  std::vector<Lane> lanes_;
};

}  // namespace attend::detail
