#include "array.h"

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "call_stream.h"
#include "errors.h"

namespace attend_python {
namespace {

using attend::DType;

constexpr const char* kDtypes = "float32, float64, float16, bfloat16, bool or int64";

// The type that a buffer's format means; none for those that attend does not have.
std::optional<DType> dtype_of_format(std::string_view format) {
  constexpr char kNative = std::endian::native == std::endian::little ? '<' : '>';
  if (!format.empty() && (format[0] == '@' || format[0] == '=' || format[0] == kNative))
    format.remove_prefix(1);
  if (format == "f") return DType::f32;
  if (format == "d") return DType::f64;
  if (format == "e") return DType::f16;
  if (format == "?") return DType::boolean;
  if (format == "q" || (format == "l" && sizeof(long) == 8)) return DType::i64;
  return std::nullopt;
}

std::optional<DType> dtype_of_dlpack(nb::dlpack::dtype dtype) {
  using Code = nb::dlpack::dtype_code;
  if (dtype.lanes != 1) return std::nullopt;
  const auto is = [&](Code code, int bits) {
    return dtype.code == static_cast<std::uint8_t>(code) && dtype.bits == bits;
  };
  if (is(Code::Float, 32)) return DType::f32;
  if (is(Code::Float, 64)) return DType::f64;
  if (is(Code::Float, 16)) return DType::f16;
  if (is(Code::Bfloat, 16)) return DType::bf16;
  if (is(Code::Bool, 8)) return DType::boolean;
  if (is(Code::Int, 64)) return DType::i64;
  return std::nullopt;
}

// "complex64" of an array that can tell, else what the protocol said.
std::string described_dtype(nb::handle object, std::string_view otherwise) {
  const nb::object dtype = nb::getattr(object, "dtype", nb::none());
  return dtype.is_none() ? std::string(otherwise) : nb::cast<std::string>(nb::str(dtype));
}

[[noreturn]] void refuse_dtype(const char* name, nb::handle object, std::string_view otherwise) {
  refuse_type(name, " holds ", described_dtype(object, otherwise), ", expected ", kDtypes);
}

attend::Dims dims_of(const char* name, std::span<const std::int64_t> values) {
  if (values.size() > attend::kMaxRank) {
    refuse_value(name, " has ", values.size(), " axes, expected at most ", attend::kMaxRank);
  }
  return attend::Dims(values);
}

// That the device is there, before the array is asked to hand anything over to it.
void require_device(const char* name, attend::Device device) {
  if (device.is_host()) return;
  try {
    attend::Tensor(DType::f32, {0}, device);
  } catch (const std::invalid_argument& error) {
    const std::string_view text = error.what(), place = "[tensor] ";
    refuse_type(name, " is on ", to_string(device), ", but ",
                text.starts_with(place) ? text.substr(place.size()) : text);
  }
}

// Asked here and not by nanobind, so that what the array itself says of the matter is what the caller reads.
// The version brings the word whether the array may be written; older libraries do not know it.
nb::object exported(nb::handle array, attend::Device device, const char* name, Access access) {
  const nb::object exports = array.attr("__dlpack__");
  const nb::tuple version = nb::make_tuple(1, 0);
  const nb::object stream = device.is_host() ? nb::none() : nb::object(CallStream::for_dlpack(array, device));
  if (stream.equal(nb::int_(-1))) return capsule_of_torch(array);
  try {
    return device.is_host() ? exports(nb::arg("max_version") = version)
                            : exports(nb::arg("max_version") = version, nb::arg("stream") = stream);
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) throw;
  }
  if (access == Access::write)
    refuse_type(name, " does not say whether it may be written: its __dlpack__ is too old");
  return device.is_host() ? exports() : exports(nb::arg("stream") = stream);
}

void require_aligned(const char* name, const void* data, DType dtype) {
  if (reinterpret_cast<std::uintptr_t>(data) % attend::size_of(dtype) != 0) {
    refuse_value(name, " does not start at a multiple of its element size in memory; pass a copy of it");
  }
}

}  // namespace

Array::Array(nb::handle object, const char* name, Access access) : object_(object) {
  if (from_buffer(name, access) || from_bfloat16_buffer(name, access)) return;
  from_dlpack(name, access);
}

bool Array::from_buffer(const char* name, Access access) {
  if (!has_buffer(object_)) return false;
  const int flags = access == Access::write ? PyBUF_RECORDS : PyBUF_RECORDS_RO;
  if (PyObject_GetBuffer(object_.ptr(), &buffer_, flags) != 0) {
    PyErr_Clear();
    const nb::object array_flags = nb::getattr(object_, "flags", nb::none());
    if (access == Access::write && !nb::cast<bool>(nb::getattr(array_flags, "writeable", nb::bool_(true)))) {
      refuse_value(name, " is read-only");
    }
    return false;  // NumPy exports no type that the struct module does not know
  }
  const auto dtype = dtype_of_format(buffer_.format == nullptr ? "B" : buffer_.format);
  if (!dtype) refuse_dtype(name, object_, buffer_.format == nullptr ? "bytes" : buffer_.format);
  see_buffer(*dtype, name);
  return true;
}

bool Array::from_bfloat16_buffer(const char* name, Access access) {
  const nb::object dtype = nb::getattr(object_, "dtype", nb::none());
  if (dtype.is_none() || !nb::hasattr(object_, "view") || !has_buffer(object_)) return false;
  if (nb::cast<std::string>(nb::str(dtype)) != "bfloat16") refuse_dtype(name, object_, "");
  other_ = object_.attr("view")("uint16");
  if (PyObject_GetBuffer(other_.ptr(), &buffer_,
                         access == Access::write ? PyBUF_RECORDS : PyBUF_RECORDS_RO) != 0) {
    throw nb::python_error();
  }
  see_buffer(DType::bf16, name);
  return true;
}

void Array::see_buffer(DType dtype, const char* name) {
  const auto size = static_cast<Py_ssize_t>(attend::size_of(dtype));
  std::array<std::int64_t, attend::kMaxRank> shape{}, strides{};
  const auto rank = static_cast<std::size_t>(buffer_.ndim);
  if (rank > shape.size()) refuse_value(name, " has ", rank, " axes, expected at most ", attend::kMaxRank);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    shape[axis] = buffer_.shape[axis];
    if (shape[axis] > 1 && buffer_.strides[axis] % size != 0) {
      refuse_value(name, " has a stride of ", buffer_.strides[axis],
                   " bytes, which is not a multiple of its element size; pass a copy of it");
    }
    strides[axis] = buffer_.strides[axis] / size;
  }
  require_aligned(name, buffer_.buf, dtype);
  view_ = attend::TensorView(buffer_.buf, dtype, attend::Dims(std::span(shape).first(rank)),
                             attend::Dims(std::span(strides).first(rank)));
}

// What PyTorch keeps beside the memory, and DLPack does not pass on: that each element is to be negated, or
// conjugated. So conj().imag looks at the numbers of the tensor it came from, with their sign.
void Array::resolve(const char* name, Access access) {
  struct Mark {
    const char *asked, *resolved, *meaning;
  };
  for (const Mark& mark :
       {Mark{"is_conj", "resolve_conj", "conjugated"}, Mark{"is_neg", "resolve_neg", "negated"}}) {
    const nb::handle now = other_.is_valid() ? nb::handle(other_) : object_;
    if (!nb::hasattr(now, mark.asked) || !nb::cast<bool>(nb::bool_(now.attr(mark.asked)()))) continue;
    if (access == Access::write) {
      refuse_value(name, " is only marked as ", mark.meaning, ": its memory holds other numbers; pass its ",
                   mark.resolved, "()");
    }
    other_ = now.attr(mark.resolved)();
  }
}

void Array::from_dlpack(const char* name, Access access) {
  if (!nb::hasattr(object_, "__dlpack__")) {
    refuse_type(name,
                " must be an array (NumPy's, PyTorch's, or any with the buffer protocol or __dlpack__), not ",
                nb::cast<std::string>(nb::str(object_.type().attr("__name__"))));
  }
  const std::optional<attend::Device> device = device_of(object_);
  if (!device) {
    refuse_type(name, " is neither in the memory of the CPU nor in that of a CUDA device (device ",
                nb::cast<std::string>(nb::str(nb::getattr(object_, "device", nb::str("unknown")))), ")");
  }
  require_device(name, *device);
  if (nb::cast<bool>(nb::bool_(nb::getattr(object_, "requires_grad", nb::bool_(false))))) {
    refuse_type(name, " requires a gradient; use attend.torch, or pass its detach()");
  }
  resolve(name, access);
  const nb::object capsule =
      exported(other_.is_valid() ? nb::handle(other_) : object_, *device, name, access);
  const bool taken = access == Access::write ? nb::try_cast(capsule, written_) : nb::try_cast(capsule, read_);
  if (!taken) {
    if (access == Access::write && nb::try_cast(capsule, read_)) refuse_value(name, " is read-only");
    refuse_value(name, " could not be taken over from DLPack");
  }
  const auto see = [&](const auto& tensor) {
    if (device_of_dlpack(tensor.device_type(), tensor.device_id()) != device)
      refuse_type(name, " says that it is on ", to_string(*device),
                  " and hands over memory of another device");
    const auto dtype = dtype_of_dlpack(tensor.dtype());
    if (!dtype) refuse_dtype(name, object_, "another type");
    const std::size_t rank = tensor.ndim();
    void* const data = const_cast<void*>(static_cast<const void*>(tensor.data()));
    const attend::Dims shape = dims_of(name, {tensor.shape_ptr(), rank});
    if (data == nullptr && attend::element_count(shape) > 0) refuse_value(name, " has no memory");
    require_aligned(name, data, *dtype);
    view_ = attend::TensorView(data, *dtype, shape, dims_of(name, {tensor.stride_ptr(), rank}), *device);
  };
  access == Access::write ? see(written_) : see(read_);
}

}  // namespace attend_python
