// A Python array seen as a view of the library: its memory is read or written where it lies, on the host or
// on a GPU, never copied.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <attend/tensor.h>

#include <optional>

namespace attend_python {

namespace nb = nanobind;

enum class Access : bool { read, write };

// Takes whatever has the buffer protocol (NumPy, array.array, memoryview) or `__dlpack__` (PyTorch, JAX), of
// any strides, and NumPy arrays of ml_dtypes' bfloat16. What is on a GPU is handed over to the stream of the
// call (call_stream.h). Keeps the memory alive as long as it lives itself; made and destroyed with the GIL
// held. A PyTorch tensor that is only marked as negated is read from a copy and not written.
class Array {
  // Given back also when the array turns out to be of no use.
  struct Buffer : Py_buffer {
    Buffer() : Py_buffer{} {}
    ~Buffer() { PyBuffer_Release(this); }  // does nothing where none was got
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
  };

 public:
  // name: what errors call it. Throws TypeError for what is not an array, or of a type that attend does not
  // have, ValueError for memory that cannot be viewed.
  Array(nb::handle object, const char* name, Access access = Access::read);
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  attend::ConstTensorView view() const { return view_; }
  attend::TensorView writable() const { return view_; }
  nb::handle object() const { return object_; }
  attend::DType dtype() const { return view_.dtype(); }
  int rank() const { return view_.rank(); }

 private:
  bool from_buffer(const char* name, Access access);
  bool from_bfloat16_buffer(const char* name, Access access);
  void from_dlpack(const char* name, Access access);
  void resolve(const char* name, Access access);
  void see_buffer(attend::DType dtype, const char* name);

  nb::handle object_;
  nb::object other_;  // what is read in its place: the bits of a bfloat16 array, the copy of a lazy tensor
  Buffer buffer_;
  nb::ndarray<nb::ro> read_;
  nb::ndarray<> written_;
  attend::TensorView view_;
};

// The view of an argument that may be None.
inline attend::ConstTensorView optional_view(std::optional<Array>& array, nb::handle object,
                                             const char* name) {
  return object.is_none() ? attend::ConstTensorView{} : array.emplace(object, name).view();
}

}  // namespace attend_python
