// A row of any type and stride into a row of any other: by vectors where both lie side by side.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "base/for_each.h"
#include "kernels/convert/convert.h"

namespace attend {

// n elements in another type: exactly, or rounded once to nearest, as copy() does it.
template <Element From, Element To>
void copy_row(const From* from, std::int64_t from_stride, std::int64_t n, To* to,
              std::int64_t to_stride) noexcept {
  constexpr bool kFromShort = !std::is_arithmetic_v<From>, kToShort = !std::is_arithmetic_v<To>;
  if (from_stride == 1 && to_stride == 1) {
    if constexpr (std::is_same_v<From, To>) {
      std::copy_n(from, n, to);
      return;
    } else if constexpr (kFromShort && std::is_same_v<To, float>) {
      return kernels::widen_row(from, n, to);
    } else if constexpr (kToShort && std::is_same_v<From, float>) {
      return kernels::narrow_row(from, n, to);
    }
  }
  for (std::int64_t i = 0; i < n; ++i) to[i * to_stride] = narrow<To>(widen(from[i * from_stride]));
}

}  // namespace attend
