#include "cuda/stream.h"

#include <cstdint>

#include "cuda/error.h"

namespace attend::cuda {
namespace {

constexpr std::uintptr_t kFirstPage = 4096;  // nothing is there

// The null stream, and the numbers 1 and 2 that stand for it and for that of the thread.
bool is_builtin(void* stream) { return reinterpret_cast<std::uintptr_t>(stream) <= 2; }

}  // namespace

void require_stream(plugin::Place place) {
  if (is_builtin(place.stream)) return;
  const auto address = reinterpret_cast<std::uintptr_t>(place.stream);
  if (address < kFirstPage || address % alignof(void*) != 0)
    fail("is given ", place.stream, " as a stream, which is not the address of one");
  if (is_capturing(place)) return;  // a capture does not allow to ask more
  int device = 0;
  if (cudaStreamGetDevice(stream_of(place), &device) != cudaSuccess) {
    cudaGetLastError();
    fail("is given ", place.stream, " as a stream, which the driver does not know");
  }
  if (device != place.device)
    fail("is given a stream of cuda:", device, " for tensors on cuda:", place.device);
}

bool is_capturing(plugin::Place place) {
  if (is_builtin(place.stream)) return false;
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream_of(place), &status), "ask whether the stream is being captured");
  return status != cudaStreamCaptureStatusNone;
}

void synchronize(plugin::Place place) {
  if (is_capturing(place)) fail("cannot wait for a stream that a graph is being captured from");
  check(cudaStreamSynchronize(stream_of(place)), "wait for the stream");
}

void wait_for_stream(plugin::Place place, void* other) {
  if (place.stream == other) return;
  require_stream({place.device, other});
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "make an event");
  cudaError_t code = cudaEventRecord(event, static_cast<cudaStream_t>(other));
  if (code == cudaSuccess) code = cudaStreamWaitEvent(stream_of(place), event, 0);
  cudaEventDestroy(event);  // once nothing waits for it any more
  check(code, "have one stream wait for another");
}

OutsideCapture::OutsideCapture() { cudaThreadExchangeStreamCaptureMode(&before_); }
OutsideCapture::~OutsideCapture() { cudaThreadExchangeStreamCaptureMode(&before_); }

}  // namespace attend::cuda
