// Keys and values as they are stored, f32, bf16 or f16, for kernels that widen them in registers: a cache of
// 16-bit numbers is never written out as 32-bit ones.
#pragma once

#include "attention/problem.h"
#include "kernels/attention/attention_decode.h"

namespace attend::detail {

// The rows of k or v in their own type. Copied only where the elements of a row are not
// contiguous.
class StoredRows {
 public:
  StoredRows(ConstTensorView source, bool packed) : view_(source) {
    if (!rows_side_by_side(source)) {
      copy_ = copy_of(source);
      view_ = copy_;
    }
    place_ = Placement(view_, packed);
  }
  StoredRows(const StoredRows&) = delete;
  StoredRows& operator=(const StoredRows&) = delete;

  DType dtype() const noexcept { return view_.dtype(); }
  std::int64_t row_stride() const noexcept { return place_.row_stride; }
  // Row 0 of a sequence's head. Null when there are no elements.
  const void* rows_of(std::int64_t sequence, std::int64_t first_row, std::int64_t head) const noexcept {
    if (view_.raw() == nullptr) return nullptr;
    return static_cast<const char*>(view_.raw()) +
           place_.offset(sequence, first_row, head) * static_cast<std::int64_t>(size_of(dtype()));
  }

 private:
  Tensor copy_;
  ConstTensorView view_;
  Placement place_;
};

}  // namespace attend::detail
