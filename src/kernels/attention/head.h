// One head of one sequence: everything the arithmetic of attention needs, as raw pointers and element
// strides.
//
// Who may look at whom is decided here, once, for every kernel: by position (causal, window, length), by
// mask, or by a bias of -inf. A kernel never reads a value, and never lets a score matter, where takes_part()
// is false.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/random.h"

namespace attend::kernels {

template <class T>
inline constexpr T kMinusInfinity = -std::numeric_limits<T>::infinity();

struct KeyRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// Which keys a query may see by position alone. Query i is at position i + query_offset on the key axis.
struct Visibility {
  std::int64_t key_count = 0;  // keys that exist: [0, key_count)
  std::int64_t query_offset = 0;
  bool causal = false;
  std::int64_t window_left = -1;  // -1 = unlimited
  std::int64_t window_right = -1;

  KeyRange keys_of(std::int64_t query) const noexcept {
    const std::int64_t position = query + query_offset;
    std::int64_t end = key_count;
    if (causal) end = std::min(end, position + 1);
    if (window_right >= 0) end = std::min(end, position + window_right + 1);
    end = std::max<std::int64_t>(end, 0);
    const std::int64_t begin = window_left >= 0 ? std::max<std::int64_t>(position - window_left, 0) : 0;
    return {std::min(begin, end), end};
  }
};

template <class T>
struct Head {
  std::int64_t queries = 0, keys = 0;
  std::int64_t d = 0, dv = 0;
  const T* q = nullptr;  // (queries, d), elements of a row side by side
  const T* k = nullptr;  // (keys, d)
  const T* v = nullptr;  // (keys, dv)
  std::int64_t q_stride = 0, k_stride = 0, v_stride = 0;

  T scale = 1;
  T softcap = 0;  // 0 = none
  Visibility visible;
  const std::uint8_t* mask = nullptr;  // (queries, keys), non-zero = takes part; null = none
  std::int64_t mask_query_stride = 0, mask_key_stride = 0;
  const T* bias = nullptr;  // (queries, keys); null = none
  std::int64_t bias_query_stride = 0, bias_key_stride = 0;
  T alibi_slope = 0;
  T sink = kMinusInfinity<T>;  // -inf = none
  DropoutStream dropout;       // which weights reach no value
  T kept = 1;                  // what the others are multiplied with
  bool unread = false;         // keys and values are far: whoever reads them first asks for them ahead

  // What dropout makes of the weight of key j.
  T dropped(std::int64_t i, std::int64_t j, T weight) const noexcept {
    return dropout.keeps(i, j) ? weight * kept : weight * 0;
  }

  const T* query(std::int64_t i) const noexcept { return q + i * q_stride; }
  const T* key(std::int64_t j) const noexcept { return k + j * k_stride; }
  const T* value(std::int64_t j) const noexcept { return v + j * v_stride; }

  // How far key j is from the position of query i.
  T distance(std::int64_t i, std::int64_t j) const noexcept {
    return static_cast<T>(std::abs(i + visible.query_offset - j));
  }
  T bias_at(std::int64_t i, std::int64_t j) const noexcept {
    return bias == nullptr ? T(0) : bias[i * bias_query_stride + j * bias_key_stride];
  }
  // Of a key inside visible.keys_of(i).
  bool takes_part(std::int64_t i, std::int64_t j) const noexcept {
    return (mask == nullptr || mask[i * mask_query_stride + j * mask_key_stride] != 0) &&
           bias_at(i, j) != kMinusInfinity<T>;
  }
};

// Where the results of one head go. max and sum may be null.
template <class T>
struct HeadOutput {
  T* out = nullptr;  // (queries, dv), elements of a row side by side
  std::int64_t out_stride = 0;
  T* max = nullptr;  // (queries)
  T* sum = nullptr;
  std::int64_t max_stride = 0, sum_stride = 0;

  void set_state(std::int64_t i, T row_max, T row_sum) const noexcept {
    if (max != nullptr) max[i * max_stride] = row_max;
    if (sum != nullptr) sum[i * sum_stride] = row_sum;
  }
};

}  // namespace attend::kernels
