// The stream that a call computes on when its arrays are on a GPU: the caller's stream=, else PyTorch's
// current one for its tensors, else the one that __cuda_array_interface__ names, else the device's own.
#pragma once

#include <nanobind/nanobind.h>

#include <attend/stream.h>

#include <optional>

namespace attend_python {

namespace nb = nanobind;

// Whether its memory is to be read by the buffer protocol. CuPy's arrays have it and refuse to serve it.
bool has_buffer(nb::handle array);

// Where DLPack says that the memory of an array is; none for devices that attend does not know. What has no
// such word is on the host.
std::optional<attend::Device> device_of(nb::handle array);

// As DLPack numbers them.
std::optional<attend::Device> device_of_dlpack(int kind, int index);

// Made before any array of the call is looked at, since arrays hand their memory over to a stream.
class CallStream {
 public:
  // array: one of the call's, which says on which device it is. given: what stream= was, or None.
  CallStream(nb::handle array, nb::handle given);
  CallStream(nb::handle array, const nb::kwargs& keywords);
  ~CallStream();
  CallStream(const CallStream&) = delete;
  CallStream& operator=(const CallStream&) = delete;

  // What an array of that device is asked to hand its memory over to, as __dlpack__ has it: -1 where nothing
  // needs to wait, 1 for the null stream.
  static nb::int_ for_dlpack(nb::handle array, attend::Device device);

  static bool is_of_torch();  // the current call computes where PyTorch does at the moment

  // Results that are not PyTorch's belong to the null stream, which is never destroyed: what the call
  // computes comes after what that stream has now, and what that stream gets next comes after the call.
  static void join_null_stream(attend::Device device);

 private:
  std::optional<attend::StreamScope> scope_;
  attend::Device device_;
  bool of_torch_ = false;  // it is the one that PyTorch computes on at the moment
  mutable bool joined_ = false;
  const CallStream* outer_;
};

// torch.Tensor and its subclasses, which make their own kind.
bool is_torch(nb::handle array);

// The DLPack capsule of one, as it is: quicker than its __dlpack__, which can also have streams wait.
nb::object capsule_of_torch(nb::handle tensor);

}  // namespace attend_python
