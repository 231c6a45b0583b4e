#include "call_stream.h"

#include <cstdint>
#include <exception>
#include <string>

#include "errors.h"
#include "numbers.h"

namespace attend_python {
namespace {

thread_local const CallStream* innermost_stream = nullptr;

void* stream_at(std::uint64_t number) {
  constexpr std::uint64_t kFirstPage = 4096;
  if (number > 2 && number < kFirstPage)
    refuse_value("stream is ", number, ", which is not the address of a CUDA stream");
  // 1 is CUDA's number for the null stream.
  return number == 1 ? nullptr : reinterpret_cast<void*>(static_cast<std::uintptr_t>(number));
}

// A number, or an object of PyTorch's, CuPy's or any other with __cuda_stream__.
void* stream_from(nb::handle given) {
  if (is_integer(given)) return stream_at(seed_from(given, "stream"));
  for (const char* const name : {"cuda_stream", "ptr"}) {
    if (nb::hasattr(given, name)) return stream_at(seed_from(given.attr(name), "stream"));
  }
  if (nb::hasattr(given, "__cuda_stream__")) {
    nb::object pair = given.attr("__cuda_stream__");
    if (PyCallable_Check(pair.ptr()) != 0) pair = pair();
    return stream_at(seed_from(pair[1], "stream"));
  }
  refuse_type("stream must be a CUDA stream (PyTorch's, CuPy's, or its address as an int), not ",
              nb::cast<std::string>(nb::str(given.type().attr("__name__"))));
}

// Looked up once and kept until the process ends.
struct Torch {
  nb::object to_dlpack, current_stream;

  static const Torch& get() {
    static const Torch* const torch = [] {
      const nb::module_ module = nb::module_::import_("torch");
      nb::object stream = nb::getattr(module.attr("_C"), "_cuda_getCurrentRawStream", nb::none());
      if (stream.is_none()) stream = module.attr("cuda").attr("current_stream");
      return new Torch{nb::module_::import_("torch.utils.dlpack").attr("to_dlpack"), stream};
    }();
    return *torch;
  }
};

void* named_by_interface(nb::handle array) {
  if (!nb::hasattr(array, "__cuda_array_interface__")) return nullptr;
  const nb::object stream = array.attr("__cuda_array_interface__").attr("get")("stream");
  return stream.is_none() ? nullptr : stream_at(seed_from(stream, "stream"));
}

nb::object keyword(const nb::kwargs& keywords, const char* name) {
  PyObject* const found = PyDict_GetItemString(keywords.ptr(), name);
  return found == nullptr ? nb::none() : nb::borrow(found);
}

}  // namespace

bool has_buffer(nb::handle array) {
  return PyObject_CheckBuffer(array.ptr()) != 0 && !nb::hasattr(array, "__cuda_array_interface__");
}

nb::object capsule_of_torch(nb::handle tensor) { return Torch::get().to_dlpack(nb::borrow(tensor)); }

bool is_torch(nb::handle array) {
  return PyObject_CheckBuffer(array.ptr()) == 0 && nb::hasattr(array, "new_empty");
}

std::optional<attend::Device> device_of_dlpack(int kind, int index) {
  constexpr int kCpu = 1, kCuda = 2, kCudaHost = 3, kCudaManaged = 13;
  if (kind == kCpu || kind == kCudaHost) return attend::Device{};
  if (kind == kCuda || kind == kCudaManaged) return attend::Device{attend::DeviceKind::cuda, index};
  return std::nullopt;
}

std::optional<attend::Device> device_of(nb::handle array) {
  if (has_buffer(array) || !nb::hasattr(array, "__dlpack_device__")) return attend::Device{};
  if (is_torch(array) && nb::hasattr(array, "is_cuda")) {  // quicker than to ask for DLPack's numbers
    if (array.attr("is_cuda").is(nb::handle(Py_True)))
      return attend::Device{attend::DeviceKind::cuda, nb::cast<int>(array.attr("get_device")())};
    if (nb::getattr(array, "is_cpu", nb::none()).is(nb::handle(Py_True))) return attend::Device{};
  }
  const nb::object device = array.attr("__dlpack_device__")();
  return device_of_dlpack(nb::cast<int>(nb::int_(device[0])), nb::cast<int>(nb::int_(device[1])));
}

CallStream::CallStream(nb::handle array, nb::handle given) : outer_(innermost_stream) {
  device_ = device_of(array).value_or(attend::Device{});
  if (device_.is_host()) {
    if (!given.is_none()) refuse_type("stream is given, but the arrays are not on a GPU");
  } else {
    void* stream = nullptr;
    if (!given.is_none()) {
      stream = stream_from(given);
    } else if (is_torch(array)) {
      stream = stream_from(Torch::get().current_stream(device_.index));
      of_torch_ = true;
    } else {
      stream = named_by_interface(array);
    }
    scope_.emplace(device_, stream);
  }
  innermost_stream = this;
}

CallStream::CallStream(nb::handle array, const nb::kwargs& keywords)
    : CallStream(array, keyword(keywords, "stream")) {}

CallStream::~CallStream() {
  innermost_stream = outer_;
  if (!joined_) return;
  void* const stream = attend::current_stream(device_);
  try {
    const attend::StreamScope null(device_, nullptr);
    attend::wait_for_stream(device_, stream);
  } catch (const std::exception&) {  // the device has failed, which the next call says
  }
}

bool CallStream::is_of_torch() { return innermost_stream != nullptr && innermost_stream->of_torch_; }

void CallStream::join_null_stream(attend::Device device) {
  const CallStream* const call = innermost_stream;
  if (call == nullptr || call->joined_ || attend::current_stream(device) == nullptr) return;
  attend::wait_for_stream(device, nullptr);
  call->joined_ = true;
}

nb::int_ CallStream::for_dlpack(nb::handle array, attend::Device device) {
  const CallStream* const call = innermost_stream;
  if (call != nullptr && call->of_torch_ && call->device_ == device && is_torch(array)) return nb::int_(-1);
  const auto stream = reinterpret_cast<std::uintptr_t>(attend::current_stream(device));
  return nb::int_(stream == 0 ? std::uintptr_t{1} : stream);
}

}  // namespace attend_python
