#include <attend/tensor.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/operations.h"

namespace attend {
Dims::Dims(std::initializer_list<std::int64_t> values) : Dims(std::span(values.begin(), values.size())) {}

Dims::Dims(std::span<const std::int64_t> values) {
  if (values.size() > kMaxRank) refuse("tensor", "at most ", kMaxRank, " dimensions, got ", values.size());
  rank_ = static_cast<int>(values.size());
  std::copy(values.begin(), values.end(), values_.begin());
}

Dims Dims::without(int axis) const {
  Dims result;
  for (int i = 0; i < rank_; ++i) {
    if (i != axis) result[result.rank_++] = (*this)[i];
  }
  return result;
}

Dims Dims::with(int axis, std::int64_t value) const {
  if (axis < 0 || axis > rank_) refuse("tensor", "cannot add axis ", axis, " to ", to_string(*this));
  if (rank_ == kMaxRank)
    refuse("tensor", "cannot add a dimension to ", to_string(*this), ": at most ", kMaxRank);
  Dims result(*this);
  for (int i = rank_; i > axis; --i) result[i] = (*this)[i - 1];
  result[axis] = value;
  ++result.rank_;
  return result;
}

std::string to_string(const Dims& dims) {
  std::string text = "(";
  for (int axis = 0; axis < dims.rank(); ++axis) {
    if (axis > 0) text += ", ";
    text += std::to_string(dims[axis]);
  }
  return text.append(dims.rank() == 1 ? ",)" : ")");
}

std::int64_t element_count(const Dims& shape) {
  // An axis of size zero makes the tensor empty however large the others are, but each size must be valid by
  // itself.
  std::int64_t count = 1;
  bool empty = false;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] < 0) refuse("tensor", "shape ", to_string(shape), " has a negative size");
    empty = empty || shape[axis] == 0;
  }
  if (empty) return 0;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (__builtin_mul_overflow(count, shape[axis], &count)) {
      refuse("tensor", "shape ", to_string(shape), " has more elements than 64 bits can count");
    }
  }
  return count;
}

Dims row_major_strides(const Dims& shape) {
  element_count(shape);  // refuses what has elements and would overflow below
  Dims strides(shape);
  std::int64_t step = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[axis] = step;
    // Without elements a stride is never taken, so any will do where the sizes are too large for a product.
    if (__builtin_mul_overflow(step, std::max<std::int64_t>(shape[axis], 1), &step)) step = 1;
  }
  return strides;
}

template <class Pointer>
BasicView<Pointer>::BasicView(Pointer data, DType dtype, const Dims& shape, const Dims& strides,
                              Device device)
    : BasicView(data, dtype, shape, strides, device, true) {
  if (shape.rank() != strides.rank()) {
    refuse("tensor", "shape ", to_string(shape), " and strides ", to_string(strides), " differ in rank");
  }
  if (element_count(shape) > 0 && data == nullptr) {
    refuse("tensor", "shape ", to_string(shape), " needs data, got a null pointer");
  }
  if (reinterpret_cast<std::uintptr_t>(data) % size_of(dtype) != 0) {
    refuse("tensor", "the data is not aligned for ", name_of(dtype));
  }
}

template <class Pointer>
void BasicView<Pointer>::require_host() const {
  if (!device_.is_host()) {
    refuse("tensor", "the data is on ", to_string(device_), ", where the host cannot read it; copy it first");
  }
}

template <class Pointer>
void BasicView<Pointer>::require_host_data(DType wanted) const {
  require_host();
  if (dtype_ != wanted) {
    refuse("tensor", "asked for ", name_of(wanted), " data of a tensor that holds ", name_of(dtype_));
  }
}

template <class Pointer>
void BasicView<Pointer>::require_axis(const char* operation, int axis) const {
  if (axis < 0 || axis >= rank()) {
    refuse(operation, "axis ", axis, " is out of range for shape ", to_string(shape_));
  }
}

template <class Pointer>
BasicView<Pointer> BasicView<Pointer>::moved(std::int64_t elements, const Dims& shape,
                                             const Dims& strides) const {
  using Byte = std::conditional_t<kMutable, char, const char>;
  Byte* start = static_cast<Byte*>(data_);
  if (start != nullptr) start += elements * static_cast<std::int64_t>(size_of(dtype_));
  return BasicView(start, dtype_, shape, strides, device_, given_);
}

template <class Pointer>
BasicView<Pointer> BasicView<Pointer>::transposed(int axis_a, int axis_b) const {
  require_axis("transposed", axis_a);
  require_axis("transposed", axis_b);
  Dims shape(shape_), strides(strides_);
  std::swap(shape[axis_a], shape[axis_b]);
  std::swap(strides[axis_a], strides[axis_b]);
  return moved(0, shape, strides);
}

template <class Pointer>
BasicView<Pointer> BasicView<Pointer>::select(int axis, std::int64_t index) const {
  require_axis("select", axis);
  if (index < 0 || index >= shape_[axis]) {
    refuse("select", "index ", index, " is out of range for axis ", axis, " of ", to_string(shape_));
  }
  return moved(index * strides_[axis], shape_.without(axis), strides_.without(axis));
}

template <class Pointer>
BasicView<Pointer> BasicView<Pointer>::slice(int axis, std::int64_t begin, std::int64_t end) const {
  require_axis("slice", axis);
  if (begin < 0 || end < begin || end > shape_[axis]) {
    refuse("slice", "[", begin, ", ", end, ") is out of range for axis ", axis, " of ", to_string(shape_));
  }
  Dims shape(shape_);
  shape[axis] = end - begin;
  return moved(end > begin ? begin * strides_[axis] : 0, shape, strides_);
}

template <class Pointer>
BasicView<Pointer> BasicView<Pointer>::split(int axis, std::int64_t outer, std::int64_t inner) const {
  require_axis("split", axis);
  std::int64_t product = 0;
  if (outer < 0 || inner < 0 || __builtin_mul_overflow(outer, inner, &product) || product != shape_[axis]) {
    refuse("split", "axis ", axis, " of ", to_string(shape_), " is not ", outer, " x ", inner);
  }
  Dims shape = shape_.with(axis, outer);
  Dims strides = strides_.with(axis, strides_[axis] * inner);
  shape[axis + 1] = inner;
  return moved(0, shape, strides);
}

template <class Pointer>
BasicView<Pointer> BasicView<Pointer>::with_axis(int axis) const {
  if (axis < 0 || axis > rank()) {
    refuse("with_axis", "axis ", axis, " is out of range for shape ", to_string(shape_));
  }
  return moved(0, shape_.with(axis, 1), strides_.with(axis, 0));
}

template class BasicView<void*>;
template class BasicView<const void*>;

Tensor::Tensor(DType dtype, const Dims& shape, Device device)
    : dtype_(dtype), shape_(shape), memory_(nullptr, Free(device, nullptr)) {
  const std::int64_t count = element_count(shape);
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(count, static_cast<std::int64_t>(size_of(dtype)), &bytes)) {
    refuse("tensor", "shape ", to_string(shape), " of ", name_of(dtype),
           " has more bytes than 64 bits can count");
  }
  const Operations& operations = operations_of("tensor", device);
  if (bytes == 0) return;
  void* const memory = operations.allocate(device, static_cast<std::size_t>(bytes));
  if (memory == nullptr) {
    throw NoMemory(joined("[tensor] no memory for shape ", to_string(shape), " of ", name_of(dtype), ", ",
                          bytes, " bytes", device.is_host() ? "" : " on ",
                          device.is_host() ? "" : to_string(device)));
  }
  memory_ = {memory, Free(device, operations.free)};
}

template <Element T>
Tensor Tensor::from(const Dims& shape, std::span<const T> values) {
  if (static_cast<std::int64_t>(values.size()) != element_count(shape)) {
    refuse("tensor", "shape ", to_string(shape), " needs ", element_count(shape), " values, got ",
           values.size());
  }
  Tensor tensor(dtype_of<T>(), shape);
  if (!values.empty()) std::memcpy(tensor.memory_.get(), values.data(), values.size_bytes());
  return tensor;
}

template Tensor Tensor::from<float>(const Dims&, std::span<const float>);
template Tensor Tensor::from<double>(const Dims&, std::span<const double>);
template Tensor Tensor::from<bfloat16>(const Dims&, std::span<const bfloat16>);
template Tensor Tensor::from<float16>(const Dims&, std::span<const float16>);
template Tensor Tensor::from<bool>(const Dims&, std::span<const bool>);
template Tensor Tensor::from<std::int64_t>(const Dims&, std::span<const std::int64_t>);

TensorView Tensor::view() & { return {memory_.get(), dtype_, shape_, row_major_strides(shape_), device()}; }
ConstTensorView Tensor::view() const& {
  return {memory_.get(), dtype_, shape_, row_major_strides(shape_), device()};
}

void copy(ConstTensorView from, TensorView to) {
  if (!from.given() || !to.given()) {
    refuse("copy", from.given() ? "the target is not given" : "the source is not given");
  }
  if (from.shape() != to.shape()) {
    refuse("copy", "shapes differ: ", to_string(from.shape()), " and ", to_string(to.shape()));
  }
  if (from.dtype() != to.dtype() && !(is_float(from.dtype()) && is_float(to.dtype()))) {
    refuse("copy", name_of(from.dtype()), " and ", name_of(to.dtype()), " do not convert");
  }
  if (element_count(from.shape()) == 0) return;
  const Device device = from.device().is_host() ? to.device() : from.device();
  if (!from.device().is_host() && !to.device().is_host() && from.device().kind != to.device().kind) {
    refuse("copy", "cannot copy from ", to_string(from.device()), " to ", to_string(to.device()));
  }
  const auto run = operations_of("copy", device).copy;
  if (run == nullptr) refuse_missing("copy", device);
  run(from, to);
}

void fill(TensorView out, double value) {
  if (!out.given()) refuse("fill", "the tensor is not given");
  if (element_count(out.shape()) == 0) return;
  if (out.dtype() == DType::boolean && value != 0 && value != 1) {
    refuse("fill", "value ", value, " is not a boolean");
  }
  if (out.dtype() == DType::i64 && !(std::abs(value) <= 0x1p53 && value == std::trunc(value))) {
    refuse("fill", "value ", value, " is not a whole number that f64 holds exactly");
  }
  on_device("fill", &Operations::fill, {{"out", out}})(out, value);
}

Tensor copy_of(ConstTensorView from, DType dtype) {
  Tensor result(dtype, from.shape(), from.device());
  copy(from, result);
  return result;
}

Tensor copy_of(ConstTensorView from) { return copy_of(from, from.dtype()); }

Tensor copy_of(ConstTensorView from, Device device) {
  Tensor result(from.dtype(), from.shape(), device);
  copy(from, result);
  return result;
}

}  // namespace attend
