#include <attend/cache.h>

#include <algorithm>
#include <limits>

#include "attention/int8_rows.h"
#include "attention/layout.h"
#include "base/check.h"
#include "base/error.h"
#include "base/overlap.h"

namespace attend {
namespace {

constexpr const char* kAppend = "KeyValueCache::append";
constexpr const char* kAttention = "KeyValueCache::attention";

void require_size(const char* name, std::int64_t size, std::int64_t least) {
  if (size < least) refuse("KeyValueCache", name, " is ", size, ", expected ", least, " or more");
}

DType stored_in(CacheType type) {
  return type == CacheType::f16 ? DType::f16 : type == CacheType::bf16 ? DType::bf16 : DType::f32;
}

constexpr std::string_view kCacheTypeNames[] = {"f32", "f16", "bf16", "int8"};

// Rows [0, counts[b]) of each sequence b become rows [to[b], ...) of the target, head by head: the
// rows of a head are contiguous, so most copies are one run of memory.
void copy_rows(ConstTensorView from, std::span<const std::int64_t> counts, TensorView target,
               const std::vector<std::int64_t>& to) {
  for (std::int64_t b = 0; b < target.size(0); ++b) {
    const auto i = static_cast<std::size_t>(b);
    if (counts[i] == 0) continue;
    for (std::int64_t h = 0; h < target.size(1); ++h) {
      copy(from.select(0, b).select(0, h).slice(0, 0, counts[i]),
           target.select(0, b).select(0, h).slice(0, to[i], to[i] + counts[i]));
    }
  }
}

// A tensor of `room` rows a head that begins with the rows of the old one.
Tensor with_room(const Tensor& old, const std::vector<std::int64_t>& lengths, std::int64_t room) {
  Tensor result(old.dtype(), {old.size(0), old.size(1), room, old.size(3)}, old.device());
  copy_rows(old, lengths, result, std::vector<std::int64_t>(lengths.size(), 0));
  return result;
}

}  // namespace

std::string_view name_of(CacheType type) noexcept { return kCacheTypeNames[static_cast<std::size_t>(type)]; }

std::optional<CacheType> cache_type_named(std::string_view name) noexcept {
  const auto* const found = std::find(std::begin(kCacheTypeNames), std::end(kCacheTypeNames), name);
  if (found == std::end(kCacheTypeNames)) return std::nullopt;
  return static_cast<CacheType>(found - std::begin(kCacheTypeNames));
}

KeyValueCache::KeyValueCache(DType dtype, std::int64_t batch, std::int64_t heads, std::int64_t d,
                             std::int64_t dv, std::int64_t capacity, Device device) {
  if (!is_float(dtype)) refuse("KeyValueCache", name_of(dtype), " is not a floating type");
  require_size("batch", batch, 0);
  require_size("heads", heads, 0);
  require_size("d", d, 1);
  require_size("dv", dv, 0);
  require_size("capacity", capacity, 0);
  keys_ = Tensor(dtype, {batch, heads, capacity, d}, device);
  values_ = Tensor(dtype, {batch, heads, capacity, dv}, device);
  d_ = d;
  dv_ = dv;
  lengths_.resize(static_cast<std::size_t>(batch));
}

KeyValueCache::KeyValueCache(CacheType type, std::int64_t batch, std::int64_t heads, std::int64_t d,
                             std::int64_t dv, std::int64_t capacity)
    : KeyValueCache(stored_in(type), batch, heads, type == CacheType::int8 ? int8_row_size(d) : d,
                    type == CacheType::int8 ? int8_row_size(dv) : dv, capacity) {
  require_size("d", d, 1);
  require_size("dv", dv, 0);
  d_ = d;
  dv_ = dv;
  int8_ = type == CacheType::int8;
}

std::int64_t KeyValueCache::length() const noexcept {
  return lengths_.empty() ? 0 : *std::max_element(lengths_.begin(), lengths_.end());
}

std::int64_t KeyValueCache::bytes() const {
  return (keys_.count() + values_.count()) * static_cast<std::int64_t>(size_of(keys_.dtype()));
}

// As attention reads them: in int8 the places of rows of D numbers.
ConstTensorView KeyValueCache::stored_keys() const {
  const ConstTensorView rows = keys_.view().slice(2, 0, length());
  return int8_ ? as_int8_rows(rows, d_) : rows;
}
ConstTensorView KeyValueCache::stored_values() const {
  const ConstTensorView rows = values_.view().slice(2, 0, length());
  return int8_ ? as_int8_rows(rows, dv_) : rows;
}

ConstTensorView KeyValueCache::keys() const& {
  if (int8_) refuse("KeyValueCache::keys", "a cache in int8 has no numbers to view; read_keys() copies them");
  return stored_keys();
}
ConstTensorView KeyValueCache::values() const& {
  if (int8_)
    refuse("KeyValueCache::values", "a cache in int8 has no numbers to view; read_values() copies them");
  return stored_values();
}

Tensor KeyValueCache::read_keys() const {
  return int8_ ? decoded_int8_rows(stored_keys()) : copy_of(stored_keys(), DType::f32);
}
Tensor KeyValueCache::read_values() const {
  return int8_ ? decoded_int8_rows(stored_values()) : copy_of(stored_values(), DType::f32);
}

void KeyValueCache::append(ConstTensorView k, ConstTensorView v) {
  if (k.given() && k.rank() == 4) {
    append(k, v, std::vector<std::int64_t>(lengths_.size(), k.size(2)));
  } else {
    append(k, v, {});  // which says what is wrong
  }
}

void KeyValueCache::append(ConstTensorView k, ConstTensorView v, std::span<const std::int64_t> counts) {
  require_floats(kAppend, {"key", k}, 4, 4);
  require_shape(kAppend, {"key", k}, {keys_.size(0), keys_.size(1), k.size(2), d_});
  require_shape(kAppend, {"value", v}, {values_.size(0), values_.size(1), k.size(2), dv_});
  if (counts.size() != lengths_.size()) {
    refuse(kAppend, "counts has ", counts.size(), " entries for ", lengths_.size(), " sequences");
  }
  std::vector<std::int64_t> longer = lengths_;
  for (std::size_t b = 0; b < longer.size(); ++b) {
    if (counts[b] < 0 || counts[b] > k.size(2)) {
      refuse(kAppend, "counts[", b, "] is ", counts[b], ", expected 0 to ", k.size(2));
    }
    if (__builtin_add_overflow(longer[b], counts[b], &longer[b])) {
      refuse(kAppend, "sequence ", b, " would have more rows than 64 bits can count");
    }
  }
  Tensor encoded_k, encoded_v;
  if (int8_) {
    k = encoded_k = encoded_int8_rows(k);
    v = encoded_v = encoded_int8_rows(v);
  }
  const std::int64_t needed = longer.empty() ? 0 : *std::max_element(longer.begin(), longer.end());

  if (needed <= capacity()) {
    // Rows of this cache may lie where they are to be written, after a truncate(): they go through a copy.
    const auto inside = [&](ConstTensorView source) {
      return overlaps(source, keys_) || overlaps(source, values_);
    };
    Tensor k_copy, v_copy;
    if (inside(k)) k = k_copy = copy_of(k);
    if (inside(v)) v = v_copy = copy_of(v);
    copy_rows(k, counts, keys_, lengths_);
    copy_rows(v, counts, values_, lengths_);
  } else {
    // The old memory lives until everything is in the new one: nothing to undo, and own views stay readable.
    const std::int64_t half = std::numeric_limits<std::int64_t>::max() / 2;
    const std::int64_t room = capacity() > half ? needed : std::max(needed, 2 * capacity());
    Tensor new_keys = with_room(keys_, lengths_, room), new_values = with_room(values_, lengths_, room);
    copy_rows(k, counts, new_keys, lengths_);
    copy_rows(v, counts, new_values, lengths_);
    keys_ = std::move(new_keys);
    values_ = std::move(new_values);
  }
  lengths_ = std::move(longer);
}

void KeyValueCache::reserve(std::int64_t capacity) {
  if (capacity < 0) refuse("KeyValueCache::reserve", "capacity is ", capacity, ", expected 0 or more");
  if (capacity <= this->capacity()) return;
  Tensor new_keys = with_room(keys_, lengths_, capacity), new_values = with_room(values_, lengths_, capacity);
  keys_ = std::move(new_keys);
  values_ = std::move(new_values);
}

void KeyValueCache::truncate(std::int64_t length) {
  if (length < 0 || length > this->length()) {
    refuse("KeyValueCache::truncate", "length is ", length, ", expected 0 to ", this->length());
  }
  for (std::int64_t& own : lengths_) own = std::min(own, length);
}

void KeyValueCache::truncate(std::span<const std::int64_t> lengths) {
  const char* const operation = "KeyValueCache::truncate";
  if (lengths.size() != lengths_.size()) {
    refuse(operation, "lengths has ", lengths.size(), " entries for ", lengths_.size(), " sequences");
  }
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    if (lengths[b] < 0 || lengths[b] > lengths_[b]) {
      refuse(operation, "lengths[", b, "] is ", lengths[b], ", expected 0 to ", lengths_[b]);
    }
  }
  std::copy(lengths.begin(), lengths.end(), lengths_.begin());
}

void KeyValueCache::clear() noexcept { std::fill(lengths_.begin(), lengths_.end(), 0); }

AttentionOptions KeyValueCache::filled_in(const AttentionOptions& options) const {
  AttentionOptions filled = options;
  if (!options.cumulative_query_lengths.empty() || !options.cumulative_key_lengths.empty()) {
    refuse(kAttention, "a cache holds a batch of sequences, not packed ones");
  }
  if (!options.query_offset.given()) filled.query_offset = QueryOffset::bottom_right();
  if (options.key_lengths.empty()) {
    filled.key_lengths = lengths_;
  } else if (options.key_lengths.size() == lengths_.size()) {
    for (std::size_t b = 0; b < lengths_.size(); ++b) {
      if (options.key_lengths[b] > lengths_[b]) {
        refuse(kAttention, "key_lengths[", b, "] is ", options.key_lengths[b], ", but sequence ", b, " has ",
               lengths_[b], " keys");
      }
    }
  }
  return filled;
}

Layout KeyValueCache::checked(ConstTensorView q, const AttentionOptions& filled) const {
  Layout layout = check_attention(kAttention, q, stored_keys(), stored_values(), filled,
                                  StoredAs::anything_computed_alike);
  layout.int8_rows = int8_;
  return layout;
}

void KeyValueCache::attention(ConstTensorView q, const AttentionOptions& options, TensorView out,
                              RowStateView row_state) const {
  const AttentionOptions filled = filled_in(options);
  const Layout layout = checked(q, filled);
  run_attention(kAttention, layout, q, stored_keys(), stored_values(), filled, out, row_state);
}

Tensor KeyValueCache::attention(ConstTensorView q, const AttentionOptions& options) const {
  const AttentionOptions filled = filled_in(options);
  const Layout layout = checked(q, filled);
  Dims shape = q.shape();
  shape[3] = layout.dv;
  Tensor out(q.dtype(), shape, q.device());
  run_attention(kAttention, layout, q, stored_keys(), stored_values(), filled, out, {});
  return out;
}

}  // namespace attend
