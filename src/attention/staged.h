// Kernels read and write one type, with the elements of a row side by side. Whatever the caller has is
// brought into that form: as it is when it already fits, through a copy of its own size when not.
#pragma once

#include <attend/tensor.h>

#include "base/rows.h"
#include "kernels/convert/copy_row.h"
#include "kernels/isa.h"

namespace attend::detail {

// copy() of floating types, but by vectors and on all threads.
inline void convert_rows(ConstTensorView from, TensorView to) {
  if (from.rank() == 0 || element_count(from.shape()) == 0) return copy(from, to);
  kernels::require_isa();
  with_float_type("convert_rows", from.dtype(), [&]<class From>(From) {
    with_float_type("convert_rows", to.dtype(), [&]<class To>(To) {
      const auto* const source = from.data<From>();
      auto* const target = to.data<To>();
      // Where they all follow each other they are one row: a call for each costs more than the arithmetic of
      // a short one.
      if (from.strides() == to.strides() && from.strides() == row_major_strides(from.shape())) {
        constexpr std::int64_t kPiece = 4096;
        const std::int64_t all = element_count(from.shape());
        return for_each_row((all + kPiece - 1) / kPiece, kPiece, [&](std::int64_t piece, int) noexcept {
          const std::int64_t first = piece * kPiece;
          copy_row(source + first, 1, std::min(kPiece, all - first), target + first, 1);
        });
      }
      for_each_row(row_count(from), row_size(from), [&](std::int64_t row, int) noexcept {
        copy_row(source + row_offset(from, row), row_stride(from), row_size(from),
                 target + row_offset(to, row), row_stride(to));
      });
    });
  });
}

template <class View>
bool rows_side_by_side(const View& view) {
  const int last = view.rank() - 1;
  return view.size(last) <= 1 || view.stride(last) == 1;
}

template <Element T>
class StagedInput {
 public:
  explicit StagedInput(ConstTensorView source) : view_(source) {
    if (!source.given()) return;
    if (source.dtype() != dtype_of<T>() || !rows_side_by_side(source)) {
      copy_ = Tensor(dtype_of<T>(), source.shape());
      convert_rows(source, copy_);
      view_ = copy_;
    }
    data_ = view_.data<T>();
  }
  StagedInput(const StagedInput&) = delete;
  StagedInput& operator=(const StagedInput&) = delete;

  // Null when there is nothing: not given, or no elements.
  const T* at(std::int64_t offset) const noexcept { return data_ == nullptr ? nullptr : data_ + offset; }
  std::int64_t stride(int axis) const noexcept { return view_.stride(axis); }

 private:
  Tensor copy_;
  ConstTensorView view_;
  const T* data_ = nullptr;
};

// Written by a kernel, then handed over with deliver().
template <Element T>
class StagedOutput {
 public:
  explicit StagedOutput(TensorView target) : target_(target), view_(target) {
    if (!target.given()) return;
    if (target.dtype() != dtype_of<T>() || !rows_side_by_side(target)) {
      copy_ = Tensor(dtype_of<T>(), target.shape());
      view_ = copy_;
      staged_ = true;
    }
    data_ = view_.data<T>();
  }
  StagedOutput(const StagedOutput&) = delete;
  StagedOutput& operator=(const StagedOutput&) = delete;

  T* at(std::int64_t offset) const noexcept { return data_ == nullptr ? nullptr : data_ + offset; }
  std::int64_t stride(int axis) const noexcept { return view_.stride(axis); }
  TensorView view() const noexcept { return view_; }
  void deliver() const {
    if (staged_) convert_rows(copy_, target_);
  }

 private:
  TensorView target_;
  Tensor copy_;
  TensorView view_;
  T* data_ = nullptr;
  bool staged_ = false;
};

// Element strides over (sequence, head, query, key), 0 where a tensor is broadcast.
struct BroadcastStrides {
  std::int64_t sequence = 0, head = 0, query = 0, key = 0;

  BroadcastStrides() = default;
  // Axes count from the right, as NumPy's do.
  template <class View>
  explicit BroadcastStrides(const View& view) {
    std::int64_t* const places[kMaxRank] = {&sequence, &head, &query, &key};
    for (int axis = 0; axis < view.rank(); ++axis) {
      if (view.size(axis) != 1) *places[kMaxRank - view.rank() + axis] = view.stride(axis);
    }
  }
};

// A bias of any floating type and strides. An axis that repeats (stride 0) is never written out.
template <Element T>
class StagedBias {
 public:
  explicit StagedBias(ConstTensorView source) {
    if (!source.given()) return;
    if (source.dtype() != dtype_of<T>()) {
      for (int axis = 0; axis < source.rank(); ++axis) {
        if (source.stride(axis) == 0 && source.size(axis) > 1) source = source.slice(axis, 0, 1);
      }
      copy_ = copy_of(source, dtype_of<T>());
      source = copy_;
    }
    data_ = source.data<T>();
    strides_ = BroadcastStrides(source);
  }
  StagedBias(const StagedBias&) = delete;
  StagedBias& operator=(const StagedBias&) = delete;

  const T* data() const noexcept { return data_; }
  const BroadcastStrides& strides() const noexcept { return strides_; }

 private:
  Tensor copy_;
  const T* data_ = nullptr;
  BroadcastStrides strides_;
};

}  // namespace attend::detail
