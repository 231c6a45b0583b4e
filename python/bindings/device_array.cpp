#include "device_array.h"

#include <nanobind/ndarray.h>

#include <attend/stream.h>

#include <cstdint>
#include <string>
#include <utility>

#include "bindings.h"
#include "call_stream.h"
#include "errors.h"
#include "numbers.h"
#include "results.h"

namespace attend_python {
namespace {

nb::dlpack::dtype dlpack_type(attend::DType dtype) {
  using Code = nb::dlpack::dtype_code;
  const Code code = dtype == attend::DType::bf16      ? Code::Bfloat
                    : dtype == attend::DType::boolean ? Code::Bool
                    : dtype == attend::DType::i64     ? Code::Int
                                                      : Code::Float;
  return {static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(8 * attend::size_of(dtype)), 1};
}

class DeviceArray {
 public:
  // stream: that whose order the memory is in, which is never destroyed.
  DeviceArray(attend::Tensor tensor, int dropped, void* stream)
      : tensor_(std::move(tensor)), stream_(stream) {
    shape_ = tensor_.shape();
    for (int axis = 0; axis < dropped; ++axis) shape_ = shape_.without(0);
  }

  DeviceArray(DeviceArray&&) = default;
  ~DeviceArray() {
    if (tensor_.device().is_host()) return;
    const attend::StreamScope scope(tensor_.device(), stream_);
    tensor_ = attend::Tensor();
  }

  nb::tuple shape() const { return tuple_of(shape_); }
  int rank() const { return shape_.rank(); }
  std::string dtype() const { return python_name(tensor_.dtype()); }
  std::string device() const { return to_string(tensor_.device()); }
  nb::tuple dlpack_device() const { return nb::make_tuple(2, tensor_.device().index); }
  std::string text() const {
    return "DeviceArray(shape=" + to_string(shape_) + ", dtype=" + dtype() + ", device=" + device() + ")";
  }

  // The consumer's stream waits for ours, as __dlpack__ asks it of the producer.
  nb::object dlpack(nb::handle self, nb::handle stream, nb::handle max_version, nb::handle dl_device,
                    nb::handle copy) {
    if (!copy.is_none() && flag_from(copy, "copy")) refuse_export("it is handed over without a copy");
    if (!dl_device.is_none() && !dl_device.equal(dlpack_device()))
      refuse_export("it is on " + device() + " and is not copied elsewhere");
    const std::int64_t number = stream.is_none() ? 1 : integer_from(stream, "stream");
    if (number == 0) refuse_value("stream is 0, which DLPack does not allow: 1 is the null stream");
    if (number != -1) {
      auto* const consumer =
          number == 1 ? nullptr : reinterpret_cast<void*>(static_cast<std::uintptr_t>(number));
      const attend::StreamScope scope(tensor_.device(), consumer);
      attend::wait_for_stream(tensor_.device(), stream_);
    }
    std::size_t sizes[attend::kMaxRank] = {};
    for (int axis = 0; axis < shape_.rank(); ++axis) sizes[axis] = static_cast<std::size_t>(shape_[axis]);
    const nb::ndarray<nb::array_api> exported(tensor_.view().raw(), static_cast<std::size_t>(shape_.rank()),
                                              sizes, nb::borrow(self), nullptr, dlpack_type(tensor_.dtype()),
                                              nb::device::cuda::value, tensor_.device().index);
    return nb::cast(exported).attr("__dlpack__")(nb::arg("max_version") = nb::borrow(max_version));
  }

 private:
  [[noreturn]] static void refuse_export(const std::string& why) {
    throw nb::buffer_error(("a DeviceArray cannot be exported so: " + why).c_str());
  }

  attend::Tensor tensor_;
  void* stream_;
  attend::Dims shape_;
};

}  // namespace

nb::object device_array(attend::Tensor tensor, int dropped) {
  CallStream::join_null_stream(tensor.device());
  return nb::cast(DeviceArray(std::move(tensor), dropped, nullptr), nb::rv_policy::move);
}

nb::object empty_device_array(attend::DType dtype, const attend::Dims& shape, attend::Device device) {
  attend::Tensor tensor;
  {
    const attend::StreamScope null(device, nullptr);
    tensor = attend::Tensor(dtype, shape, device);
  }
  return device_array(std::move(tensor));
}

nb::object torch_tensor(attend::Tensor tensor, int dropped) {
  const nb::object from_dlpack = nb::module_::import_("torch").attr("from_dlpack");
  if (!CallStream::is_of_torch()) return from_dlpack(device_array(std::move(tensor), dropped));
  void* const stream = attend::current_stream(tensor.device());  // PyTorch's are never destroyed
  return from_dlpack(nb::cast(DeviceArray(std::move(tensor), dropped, stream), nb::rv_policy::move));
}

void bind_device_array(nb::module_& module) {
  nb::class_<DeviceArray>(module, "DeviceArray",
                          "A result on a GPU, for arrays that are not PyTorch's. cupy.from_dlpack(), "
                          "torch.from_dlpack() and others take it over\n"
                          "without a copy, in the order of their stream.")
      .def_prop_ro("shape", &DeviceArray::shape, nb::sig("def shape(self) -> tuple[int, ...]"))
      .def_prop_ro("ndim", &DeviceArray::rank)
      .def_prop_ro("dtype", &DeviceArray::dtype, "\"float32\", \"bfloat16\", ...")
      .def_prop_ro("device", &DeviceArray::device, "\"cuda:0\", ...")
      .def("__repr__", &DeviceArray::text)
      .def("__dlpack_device__", &DeviceArray::dlpack_device,
           nb::sig("def __dlpack_device__(self) -> tuple[int, int]"))
      .def(
          "__dlpack__",
          [](nb::handle self, nb::handle stream, nb::handle max_version, nb::handle dl_device,
             nb::handle copy) {
            return nb::cast<DeviceArray&>(self).dlpack(self, stream, max_version, dl_device, copy);
          },
          nb::kw_only(), nb::arg("stream") = nb::none(), nb::arg("max_version") = nb::none(),
          nb::arg("dl_device") = nb::none(), nb::arg("copy") = nb::none(),
          nb::sig("def __dlpack__(self, *, stream: int | None = None, max_version: tuple[int, int] | None = "
                  "None, dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> typing.Any"));
}

}  // namespace attend_python
