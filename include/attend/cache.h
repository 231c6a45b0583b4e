// The keys and values of the past, kept for attention: append what each step brings, then let the step's
// queries attend to everything so far.
//
//   KeyValueCache cache(DType::bf16, batch, heads, d, dv);
//   cache.append(k, v);                     // (B, Hkv, L, D) and (B, Hkv, L, Dv), any strides
//   cache.attention(q, {.causal = true}, out);
//
// Sequences of a batch may differ in length: append() with counts takes that many rows of each, and attention
// sees only the rows that each sequence has. Reading from several threads at once is fine, changing is not.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <attend/attention.h>
#include <attend/tensor.h>

namespace attend {

namespace detail {
struct Layout;
}

// What a cache stores. int8: for each row of each head a scale and whole numbers of 8 bits, which are off by
// 1/254 of the row's largest number at most.
enum class CacheType : std::uint8_t { f32, f16, bf16, int8 };
std::string_view name_of(CacheType type) noexcept;
std::optional<CacheType> cache_type_named(std::string_view name) noexcept;

class KeyValueCache {
 public:
  // On the host.
  KeyValueCache(CacheType type, std::int64_t batch, std::int64_t heads, std::int64_t d, std::int64_t dv,
                std::int64_t capacity = 0);
  // Stores f32, bf16, f16 or f64. capacity: rows for which there is room from the start. device: where.
  KeyValueCache(DType dtype, std::int64_t batch, std::int64_t heads, std::int64_t d, std::int64_t dv,
                std::int64_t capacity = 0, Device device = {});

  // Rounded to the cache's type. Either everything is appended or, on an exception, nothing has changed. k
  // and v may be views of this cache. When there is not enough room, it is at least doubled, which copies
  // everything and makes views of the cache invalid.
  void append(ConstTensorView k, ConstTensorView v);
  // counts (B): appends the first counts[b] rows of sequence b. The queries that belong to them are then at
  // the previous lengths: options.query_offset = cache.lengths(), taken before appending.
  void append(ConstTensorView k, ConstTensorView v, std::span<const std::int64_t> counts);

  void reserve(std::int64_t capacity);
  // Drops what comes after `length`, which must not exceed length(); shorter sequences stay as they are.
  void truncate(std::int64_t length);
  void truncate(std::span<const std::int64_t> lengths);  // (B), none longer than it is
  void clear() noexcept;                                 // keeps the room

  DType dtype() const noexcept { return keys_.dtype(); }  // f32 in int8, as what it stands for
  bool is_int8() const noexcept { return int8_; }
  std::int64_t heads() const noexcept { return keys_.size(1); }
  std::int64_t head_size() const noexcept { return d_; }  // D
  std::int64_t bytes() const;                             // that it takes, with its spare room
  Device device() const noexcept { return keys_.device(); }
  std::int64_t length() const noexcept;  // of the longest sequence
  std::int64_t capacity() const noexcept { return keys_.size(2); }
  const std::vector<std::int64_t>& lengths() const noexcept { return lengths_; }

  // f32 copies of all rows, whatever is stored.
  Tensor read_keys() const;
  Tensor read_values() const;

  // Refused in int8, which has no numbers to view. (B, Hkv, length(), D) and (B, Hkv, length(), Dv). After
  // the end of a shorter sequence the contents are unspecified.
  ConstTensorView keys() const&;
  ConstTensorView values() const&;
  ConstTensorView keys() const&& = delete;
  ConstTensorView values() const&& = delete;

  // attention() of q over what is cached. Two things are filled in where options say nothing: the queries are
  // the last rows (query_offset bottom right), and a sequence has its own length (key_lengths). q may be of
  // another type than the cache, as long as both or neither are f64; out and row_state follow q.
  void attention(ConstTensorView q, const AttentionOptions& options, TensorView out,
                 RowStateView row_state = {}) const;
  Tensor attention(ConstTensorView q, const AttentionOptions& options = {}) const;

 private:
  AttentionOptions filled_in(const AttentionOptions& options) const;
  ConstTensorView stored_keys() const;
  ConstTensorView stored_values() const;
  detail::Layout checked(ConstTensorView q, const AttentionOptions& filled) const;

  Tensor keys_, values_;  // (B, Hkv, capacity, D), (B, Hkv, capacity, Dv); in int8 encoded rows
  std::int64_t d_ = 0, dv_ = 0;
  bool int8_ = false;
  std::vector<std::int64_t> lengths_;
};

}  // namespace attend
