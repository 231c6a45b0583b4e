#include "results.h"

#include <cstdint>
#include <string>
#include <utility>

#include "call_stream.h"
#include "device_array.h"
#include "errors.h"

namespace attend_python {
namespace {

using attend::DType;

// Looked up once and kept until the process ends: the interpreter may be gone before static objects are.
struct Numpy {
  nb::object empty, float32, float64, float16, boolean, int64;

  static const Numpy& get() {
    static const Numpy* const numpy = [] {
      const nb::module_ module = nb::module_::import_("numpy");
      const auto dtype = [&](const char* name) { return module.attr("dtype")(name); };
      return new Numpy{module.attr("empty"), dtype("float32"), dtype("float64"),
                       dtype("float16"),     dtype("bool"),    dtype("int64")};
    }();
    return *numpy;
  }

  nb::object of(DType dtype) const {
    switch (dtype) {
      case DType::f32:
        return float32;
      case DType::f64:
        return float64;
      case DType::f16:
        return float16;
      case DType::boolean:
        return boolean;
      case DType::i64:
        return int64;
      case DType::bf16:
        break;
    }
    try {
      return nb::module_::import_("numpy").attr("dtype")(nb::module_::import_("ml_dtypes").attr("bfloat16"));
    } catch (const nb::python_error&) {
      refuse_type("a NumPy array of bfloat16 takes the package ml_dtypes, which is not installed");
    }
  }
};

template <class Framework, class T>
nb::object handed_over(attend::Tensor tensor, int dropped) {
  const attend::Dims shape = tensor.shape();
  auto kept = std::make_unique<attend::Tensor>(std::move(tensor));
  T* const data = kept->values<T>().data();
  const nb::capsule owner(kept.release(),
                          [](void* held) noexcept { delete static_cast<attend::Tensor*>(held); });
  std::size_t sizes[attend::kMaxRank] = {};
  const int rank = shape.rank() - dropped;
  for (int axis = 0; axis < rank; ++axis) sizes[axis] = static_cast<std::size_t>(shape[axis + dropped]);
  return nb::cast(nb::ndarray<Framework, T>(data, static_cast<std::size_t>(rank), sizes, owner));
}

template <class Framework>
nb::object handed_over(attend::Tensor tensor, int dropped) {
  switch (tensor.dtype()) {
    case DType::f64:
      return handed_over<Framework, double>(std::move(tensor), dropped);
    case DType::i64:
      return handed_over<Framework, std::int64_t>(std::move(tensor), dropped);
    default:
      return handed_over<Framework, float>(std::move(tensor), dropped);
  }
}

}  // namespace

const char* python_name(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "float32";
    case DType::f64:
      return "float64";
    case DType::bf16:
      return "bfloat16";
    case DType::f16:
      return "float16";
    case DType::boolean:
      return "bool";
    case DType::i64:
      return "int64";
  }
  return "";
}

nb::tuple tuple_of(const attend::Dims& dims) {
  nb::list list;
  for (int axis = 0; axis < dims.rank(); ++axis) list.append(dims[axis]);
  return nb::tuple(list);
}

nb::object numpy_dtype(DType dtype) { return Numpy::get().of(dtype); }

nb::object numpy_empty(const attend::Dims& shape, DType dtype) {
  const Numpy& numpy = Numpy::get();
  return numpy.empty(tuple_of(shape), numpy.of(dtype));
}

nb::object numpy_of(attend::Tensor tensor, int dropped) {
  const bool indices = tensor.dtype() == DType::i64;
  const nb::object array = handed_over<nb::numpy>(std::move(tensor), dropped);
  // A buffer's 64-bit integers are C's long long; NumPy's own int64 is long where that has 64 bits.
  return indices ? array.attr("view")(Numpy::get().int64) : array;
}

Result ResultMaker::empty(const attend::Dims& shape, DType dtype) const {
  if (is_torch(like_.object())) {
    const nb::object torch_dtype = dtype == like_.dtype()
                                       ? nb::getattr(like_.object(), "dtype")
                                       : nb::module_::import_("torch").attr(python_name(dtype));
    return Result(like_.object().attr("new_empty")(tuple_of(shape), nb::arg("dtype") = torch_dtype));
  }
  if (const attend::Device device = like_.view().device(); !device.is_host())
    return Result(empty_device_array(dtype, shape, device));
  if (dtype == DType::bf16 && PyObject_CheckBuffer(like_.object().ptr()) != 0) {
    return Result(Numpy::get().empty(tuple_of(shape), nb::getattr(like_.object(), "dtype")));
  }
  return Result(numpy_empty(shape, dtype));
}

nb::object ResultMaker::take(attend::Tensor tensor, int dropped) const {
  const bool torch = is_torch(like_.object());
  if (!tensor.device().is_host())
    return torch ? torch_tensor(std::move(tensor), dropped) : device_array(std::move(tensor), dropped);
  return torch ? handed_over<nb::pytorch>(std::move(tensor), dropped) : numpy_of(std::move(tensor), dropped);
}

DType dtype_from(nb::handle dtype) {
  std::string name = nb::cast<std::string>(nb::str(nb::getattr(dtype, "__name__", nb::borrow(dtype))));
  if (const auto dot = name.rfind('.'); dot != std::string::npos) name.erase(0, dot + 1);
  for (const DType known : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
    if (name == python_name(known)) return known;
  }
  refuse_type("dtype is ", name, ", expected float32, float64, bfloat16 or float16");
}

}  // namespace attend_python
