// Memory that is planned once: views are asked for by shape, and all of them get their memory together.
#pragma once

#include <attend/tensor.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/parallel.h"

namespace attend::train {

class Arena {
 public:
  // `view`, which must not move, will refer to memory of this shape.
  void want(TensorView& view, const Dims& shape) {
    wishes_.push_back({&view, shape, next_});
    constexpr std::int64_t kLine = 16;
    next_ += (element_count(shape) + kLine - 1) / kLine * kLine;
    end_ = std::max(end_, next_);
  }

  // Views asked for after rewind(mark) share memory with those asked for after mark(): for things that are
  // not needed at the same time.
  std::int64_t mark() const noexcept { return next_; }
  void rewind(std::int64_t mark) noexcept { next_ = mark; }
  // Views asked for from now on come after everything so far.
  void keep_all() noexcept { next_ = end_; }

  void allocate(DType dtype) {
    memory_ = Tensor(dtype, {end_});
    for (const Wish& wish : wishes_) {
      const TensorView flat = memory_.view().slice(0, wish.offset, wish.offset + element_count(wish.shape));
      *wish.view = flat.with_layout(wish.shape, row_major_strides(wish.shape));
    }
  }
  std::int64_t elements() const noexcept { return end_; }

 private:
  struct Wish {
    TensorView* view;
    Dims shape;
    std::int64_t offset;
  };
  std::vector<Wish> wishes_;
  std::int64_t next_ = 0, end_ = 0;
  Tensor memory_;
};

// Sets all elements to 0, by all threads; the rows must be contiguous.
inline void clear(TensorView rows) {
  constexpr std::int64_t kPiece = std::int64_t{1} << 18;
  auto* const bytes = static_cast<char*>(rows.raw());
  const std::int64_t size = rows.count() * static_cast<std::int64_t>(size_of(rows.dtype()));
  detail::parallel_for((size + kPiece - 1) / kPiece, [&](std::int64_t piece, int) noexcept {
    const std::int64_t first = piece * kPiece;
    std::memset(bytes + first, 0, static_cast<std::size_t>(std::min(kPiece, size - first)));
  });
}

// The first `count` rows.
inline TensorView first_rows(TensorView view, std::int64_t count) { return view.slice(0, 0, count); }

}  // namespace attend::train
