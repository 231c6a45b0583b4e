// The caller's streams: whether one can be used, and what waits for what.
#pragma once

#include <cuda_runtime.h>

#include "plugin/cuda_table.h"

namespace attend::cuda {

inline cudaStream_t stream_of(plugin::Place place) { return static_cast<cudaStream_t>(place.stream); }

// Refuses what cannot be a stream, and one of another device. One that was destroyed cannot be found out:
// whatever the driver is asked about it reads memory that is gone.
void require_stream(plugin::Place place);

// Whether what is put onto the stream becomes part of a graph and is not carried out now.
bool is_capturing(plugin::Place place);

// The table's entries.
void synchronize(plugin::Place place);
void wait_for_stream(plugin::Place place, void* other);

// What a capture forbids to everybody, as getting memory for good, while this lives: it concerns no stream
// that is captured.
class OutsideCapture {
 public:
  OutsideCapture();
  ~OutsideCapture();
  OutsideCapture(const OutsideCapture&) = delete;
  OutsideCapture& operator=(const OutsideCapture&) = delete;

 private:
  cudaStreamCaptureMode before_ = cudaStreamCaptureModeRelaxed;
};

}  // namespace attend::cuda
