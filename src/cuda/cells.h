// How an axis of a matrix is divided into the cells of a smaller map, as the host divides it
// (kernels/attention/cells.h, which tests/cuda compares), and how many cells a block of threads takes.
#pragma once

#include "cuda/visibility.h"

namespace attend::cuda {

// `wanted` cells over `length` indices. Where more are wanted than there are indices, each shows one and
// indices repeat; then only `count` of them are computed.
struct Cells {
  std::int64_t length = 0, wanted = 0, count = 0;

  ATTEND_BOTH constexpr Cells(std::int64_t indices, std::int64_t cells)
      : length(indices), wanted(cells), count(cells < indices ? cells : indices) {}
  ATTEND_BOTH constexpr std::int64_t begin(std::int64_t cell) const { return cell * length / count; }
  ATTEND_BOTH constexpr std::int64_t end(std::int64_t cell) const { return begin(cell + 1); }
  // The wanted cells [shown_begin(c), shown_begin(c + 1)) are cell c.
  ATTEND_BOTH constexpr std::int64_t shown_begin(std::int64_t cell) const {
    return wanted == count ? cell : (cell * wanted + length - 1) / length;
  }
  // Cells that are taken together: as many as have no more than `most` indices, at least one.
  ATTEND_BOTH constexpr std::int64_t together(std::int64_t most) const {
    const std::int64_t longest = count == 0 ? 1 : (length + count - 1) / count;
    return longest < most ? most / longest : 1;
  }
  ATTEND_BOTH constexpr std::int64_t groups(std::int64_t most) const {
    return (count + together(most) - 1) / together(most);
  }
};

}  // namespace attend::cuda
