// Strided views of memory that somebody else owns, and an aligned tensor that owns its own. Up to four
// dimensions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include <attend/device.h>
#include <attend/dtype.h>

namespace attend {

inline constexpr int kMaxRank = 4;

// Up to four whole numbers: a shape, or the strides that go with it. Strides count elements, not bytes.
class Dims {
 public:
  Dims() = default;
  Dims(std::initializer_list<std::int64_t> values);
  explicit Dims(std::span<const std::int64_t> values);

  int rank() const noexcept { return rank_; }
  std::int64_t operator[](int axis) const noexcept { return values_[static_cast<std::size_t>(axis)]; }
  std::int64_t& operator[](int axis) noexcept { return values_[static_cast<std::size_t>(axis)]; }

  // These dims without one axis, or with one more in front of `axis`.
  Dims without(int axis) const;
  Dims with(int axis, std::int64_t value) const;

  friend bool operator==(const Dims& a, const Dims& b) noexcept = default;

 private:
  std::array<std::int64_t, kMaxRank> values_{};
  int rank_ = 0;
};

std::string to_string(const Dims& dims);        // "(2, 3)"
std::int64_t element_count(const Dims& shape);  // throws when a size is negative or the product overflows
Dims row_major_strides(const Dims& shape);

// A view: pointer, element type, shape, strides and the device that the memory is on. Copying it copies no
// data; the memory must outlive it. Strides may be zero (broadcast) or negative. A default-constructed view
// means "not given".
template <class Pointer>
class BasicView {
  static constexpr bool kMutable = std::is_same_v<Pointer, void*>;
  template <class T>
  using DataPointer = std::conditional_t<kMutable, T*, const T*>;

 public:
  BasicView() = default;
  BasicView(Pointer data, DType dtype, const Dims& shape, const Dims& strides, Device device = {});
  template <class T>
    requires Element<std::remove_const_t<T>> && (!kMutable || !std::is_const_v<T>)
  BasicView(T* data, const Dims& shape) : BasicView(data, shape, row_major_strides(shape)) {}
  template <class T>
    requires Element<std::remove_const_t<T>> && (!kMutable || !std::is_const_v<T>)
  BasicView(T* data, const Dims& shape, const Dims& strides)
      : BasicView(static_cast<Pointer>(data), dtype_of<std::remove_const_t<T>>(), shape, strides) {}
  // A mutable view can be read.
  template <class Other>
    requires(!kMutable && std::is_same_v<Other, void*>)
  BasicView(const BasicView<Other>& other)
      : BasicView(other.raw(), other.dtype(), other.shape(), other.strides(), other.device(), other.given()) {
  }

  bool given() const noexcept { return given_; }
  Device device() const noexcept { return device_; }
  Pointer raw() const noexcept { return data_; }  // an address on its device: for code that knows which
  DType dtype() const noexcept { return dtype_; }
  int rank() const noexcept { return shape_.rank(); }
  const Dims& shape() const noexcept { return shape_; }
  const Dims& strides() const noexcept { return strides_; }
  std::int64_t size(int axis) const noexcept { return shape_[axis]; }
  std::int64_t stride(int axis) const noexcept { return strides_[axis]; }
  std::int64_t count() const { return element_count(shape_); }

  // The data as T; throws when the view holds another type, or memory that the host cannot read.
  template <Element T>
  DataPointer<T> data() const {
    require_host_data(dtype_of<T>());
    return static_cast<DataPointer<T>>(data_);
  }
  // The data as plain memory; throws when the host cannot read it.
  Pointer host_data() const {
    require_host();
    return data_;
  }

  // Views of the same memory.
  BasicView transposed(int axis_a, int axis_b) const;
  BasicView select(int axis, std::int64_t index) const;                     // drops the axis
  BasicView slice(int axis, std::int64_t begin, std::int64_t end) const;    // [begin, end)
  BasicView split(int axis, std::int64_t outer, std::int64_t inner) const;  // one axis -> (outer, inner)
  BasicView with_axis(int axis) const;                                      // inserts an axis of size 1
  // From the same place on, in any shape and strides; they are not checked against the view's own.
  BasicView with_layout(const Dims& shape, const Dims& strides) const {
    return {data_, dtype_, shape, strides, device_};
  }

 private:
  template <class>
  friend class BasicView;
  BasicView(Pointer data, DType dtype, const Dims& shape, const Dims& strides, Device device, bool given)
      : data_(data), dtype_(dtype), given_(given), device_(device), shape_(shape), strides_(strides) {}
  void require_host() const;
  void require_host_data(DType wanted) const;
  void require_axis(const char* operation, int axis) const;
  BasicView moved(std::int64_t elements, const Dims& shape, const Dims& strides) const;

  Pointer data_ = nullptr;
  DType dtype_ = DType::f32;
  bool given_ = false;
  Device device_{};
  Dims shape_;
  Dims strides_;
};

using TensorView = BasicView<void*>;
using ConstTensorView = BasicView<const void*>;

extern template class BasicView<void*>;
extern template class BasicView<const void*>;

// A row-major tensor that owns its memory: zeroed, 64-byte aligned; std::bad_alloc where there is none. Moves
// are cheap; a copy is asked for with copy_of(). Without arguments: no elements.
class Tensor {
 public:
  Tensor() = default;
  Tensor(DType dtype, const Dims& shape, Device device = {});

  // On the host. Values in row-major order; throws when their number is not the shape's.
  template <Element T>
  static Tensor from(const Dims& shape, std::span<const T> values);
  template <Element T>
  static Tensor from(const Dims& shape, std::initializer_list<T> values) {
    return from<T>(shape, std::span<const T>(values.begin(), values.size()));
  }

  DType dtype() const noexcept { return dtype_; }
  Device device() const noexcept { return memory_.get_deleter().device; }
  const Dims& shape() const noexcept { return shape_; }
  int rank() const noexcept { return shape_.rank(); }
  std::int64_t size(int axis) const noexcept { return shape_[axis]; }
  std::int64_t count() const { return element_count(shape_); }

  // For a tensor on the host; throws for any other.
  template <Element T>
  std::span<T> values() {
    T* const data = view().data<T>();
    return {data, static_cast<std::size_t>(count())};
  }
  template <Element T>
  std::span<const T> values() const {
    const T* const data = view().data<T>();
    return {data, static_cast<std::size_t>(count())};
  }

  // A view of a temporary would outlive its memory, so this needs a tensor with a name. As an argument a
  // temporary may be read: it lives until the call returns.
  TensorView view() &;
  ConstTensorView view() const&;
  ConstTensorView view() const&& = delete;
  operator TensorView() & { return view(); }
  operator ConstTensorView() const { return static_cast<const Tensor&>(*this).view(); }

 private:
  using FreeFunction = void(Device device, void* memory) noexcept;
  struct Free {
    Free() noexcept : device(), free(nullptr) {}
    Free(Device where, FreeFunction* function) noexcept : device(where), free(function) {}
    void operator()(void* memory) const noexcept { free(device, memory); }
    Device device;
    FreeFunction* free;
  };
  DType dtype_ = DType::f32;
  Dims shape_{0};
  std::unique_ptr<void, Free> memory_;
};

// Copies element by element, converting between the floating types (round to nearest even); other types only
// copy to the same type. Shapes must be equal. Between devices one of the two is the host, or both are of one
// kind.
void copy(ConstTensorView from, TensorView to);

// Every element becomes `value`, rounded to its type; 0 or 1 for boolean, a whole number for i64.
void fill(TensorView out, double value);

// A row-major copy, as `dtype` or as it was, on its own device or on another.
Tensor copy_of(ConstTensorView from, DType dtype);
Tensor copy_of(ConstTensorView from);
Tensor copy_of(ConstTensorView from, Device device);

}  // namespace attend
