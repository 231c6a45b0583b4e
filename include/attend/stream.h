// In which order a GPU computes. Work is put onto a stream (a cudaStream_t, as void*) and carried out there
// one after the other, while the host goes on. Without a StreamScope that is the device's own, the null
// stream.
#pragma once

#include <attend/device.h>

namespace attend {

// While one lives, everything that its thread asks of this device goes onto this stream, getting memory
// included. Inside another one for the same device, it replaces that one while it lives. A tensor that was
// made on the stream goes back in the stream's order inside such a scope; elsewhere that waits for the
// device, since the stream may be gone. A stream that was destroyed must not be used: the driver cannot tell,
// and crashes.
//
//   StreamScope scope(q.device(), stream);
//   attention(q, k, v, options, out);  // returns before it is computed; a CUDA graph may capture it
class StreamScope {
 public:
  StreamScope(Device device, void* stream);
  ~StreamScope();
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  Device device_;
  void* outer_;
};

// The stream that this thread's calls go onto; null: the device's own.
void* current_stream(Device device);

// Returns when everything on the current stream is done. The host has always finished.
void synchronize(Device device);

// What the current stream gets from now on waits until what `other` has been given so far is done; the host
// does not wait.
void wait_for_stream(Device device, void* other);

}  // namespace attend
