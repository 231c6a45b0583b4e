// Streams and graphs of the driver, for tests: what a caller has who computes with CUDA himself. Looked up at
// run time, so that nothing is linked to the driver.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>

namespace attend::driver {

inline constexpr int kNotReady = 600;  // CUDA_ERROR_NOT_READY: there is work left on a stream

template <class... Arguments>
int call(const char* name, Arguments... arguments) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  auto* const function = reinterpret_cast<int (*)(Arguments...)>(dlsym(library, name));
  if (function == nullptr) return -1;
  return function(arguments...);
}

// The context that the runtime uses, as this thread's own.
inline void use_first_device() {
  int device = 0;
  void* context = nullptr;
  EXPECT_EQ(call("cuInit", 0u), 0);
  EXPECT_EQ(call("cuDeviceGet", &device, 0), 0);
  EXPECT_EQ(call("cuDevicePrimaryCtxRetain", &context, device), 0);
  EXPECT_EQ(call("cuCtxSetCurrent", context), 0);
}

// One that does not wait for the null stream, nor that for it.
class Stream {
 public:
  Stream() {
    use_first_device();
    EXPECT_EQ(call("cuStreamCreate", &stream_, 1u), 0);
  }
  ~Stream() { EXPECT_EQ(call("cuStreamDestroy_v2", stream_), 0); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  void* get() const { return stream_; }
  bool has_work() const { return call("cuStreamQuery", stream_) == kNotReady; }

 private:
  void* stream_ = nullptr;
};

// What `record` puts onto the stream, to be launched later.
class Graph {
 public:
  template <class Record>
  Graph(const Stream& stream, Record record) {
    constexpr int kGlobal = 0;  // the strictest mode: nothing that could wait is allowed, on any thread
    EXPECT_EQ(call("cuStreamBeginCapture_v2", stream.get(), kGlobal), 0);
    try {
      record();
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
    EXPECT_EQ(call("cuStreamEndCapture", stream.get(), &graph_), 0);
    if (graph_ == nullptr) return;
    EXPECT_EQ(call("cuGraphInstantiateWithFlags", &launched_, graph_, std::uint64_t{0}), 0);
  }
  ~Graph() {
    if (graph_ == nullptr) return;
    EXPECT_EQ(call("cuGraphExecDestroy", launched_), 0);
    EXPECT_EQ(call("cuGraphDestroy", graph_), 0);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  void launch(const Stream& stream) const { EXPECT_EQ(call("cuGraphLaunch", launched_, stream.get()), 0); }

 private:
  void *graph_ = nullptr, *launched_ = nullptr;
};

}  // namespace attend::driver
