// How an axis of a matrix is divided into the cells of a smaller map.
#pragma once

#include <cstdint>

namespace attend::kernels {

// Cell c holds the indices [begin(c), begin(c + 1)). count <= length, so no cell is empty.
struct Cells {
  std::int64_t length = 0;
  std::int64_t count = 0;

  std::int64_t begin(std::int64_t cell) const noexcept { return cell * length / count; }
  std::int64_t end(std::int64_t cell) const noexcept { return begin(cell + 1); }
  // The last cell that begins at or before the index: c length / count <= i, solved for c.
  std::int64_t holding(std::int64_t index) const noexcept { return ((index + 1) * count - 1) / length; }
};

// Walks floor(i length / count), i = 0, 1, ..., without a division at each step.
class CellWalk {
 public:
  CellWalk(std::int64_t length, std::int64_t count) noexcept
      : count_(count), step_(length / count), extra_(length % count) {}

  std::int64_t begin() const noexcept { return begin_; }
  std::int64_t next() const noexcept { return begin_ + step_ + (rest_ + extra_ >= count_ ? 1 : 0); }
  void advance() noexcept {
    begin_ = next();
    rest_ += extra_;
    if (rest_ >= count_) rest_ -= count_;
  }

 private:
  std::int64_t count_, step_, extra_;
  std::int64_t begin_ = 0, rest_ = 0;
};

}  // namespace attend::kernels
