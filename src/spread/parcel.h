// Memory that travels: the rows that some process has of a tensor (B, H, rows, size), side by side.
#pragma once

#include <attend/processes.h>
#include <attend/tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/rows.h"

namespace attend::spread {

inline std::span<std::byte> bytes_of(TensorView packed) {
  return {static_cast<std::byte*>(packed.raw()),
          static_cast<std::size_t>(packed.count()) * size_of(packed.dtype())};
}
inline std::span<const std::byte> bytes_of(ConstTensorView packed) {
  return {static_cast<const std::byte*>(packed.raw()),
          static_cast<std::size_t>(packed.count()) * size_of(packed.dtype())};
}

// Room for the rows of any process; each has its own number of them.
class Parcel {
 public:
  Parcel(DType dtype, std::int64_t batch, std::int64_t heads, std::int64_t most_rows, std::int64_t size)
      : batch_(batch),
        heads_(heads),
        size_(size),
        memory_(std::make_shared<Tensor>(dtype, Dims{batch, heads, most_rows, size})) {}

  TensorView view(std::int64_t rows) const {
    const Dims shape{batch_, heads_, rows, size_};
    return memory_->view().with_layout(shape, row_major_strides(shape));
  }
  std::span<std::byte> bytes(std::int64_t rows) const { return bytes_of(view(rows)); }
  const std::shared_ptr<Tensor>& memory() const { return memory_; }

 private:
  std::int64_t batch_, heads_, size_;
  std::shared_ptr<Tensor> memory_;
};

// Keeps the memory of several parcels.
inline std::shared_ptr<const void> memory_of(const std::vector<Parcel>& parcels) {
  auto all = std::make_shared<std::vector<std::shared_ptr<Tensor>>>();
  for (const Parcel& parcel : parcels) all->push_back(parcel.memory());
  return all;
}

// to += from, of one shape; rows side by side in both.
template <class T>
void add_rows(ConstTensorView from, TensorView to) {
  for (std::int64_t b = 0; b < to.size(0); ++b) {
    for (std::int64_t h = 0; h < to.size(1); ++h) {
      const T* const source = from.select(0, b).select(0, h).data<T>();
      T* const target = to.select(0, b).select(0, h).data<T>();
      detail::for_each_row(to.size(2), to.size(3), [&](std::int64_t row, int) noexcept {
        const T* const a = source + row * from.stride(2);
        T* const sum = target + row * to.stride(2);
        for (std::int64_t c = 0; c < to.size(3); ++c) sum[c * to.stride(3)] += a[c * from.stride(3)];
      });
    }
  }
}

}  // namespace attend::spread
