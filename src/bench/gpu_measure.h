// Measuring on a GPU: a call only puts work onto the device's stream, so many are put there between two
// waits.
#pragma once

#include <attend/device.h>
#include <attend/tensor.h>

#include <functional>
#include <span>
#include <string>

#include "bench/measure.h"

namespace attend::bench {

// Times the calls, alternating with each other; fills in device, times and rounds. There is no measured peak.
void measure_on_gpu(std::span<const MeasuredCall> calls, Device device, const BenchSettings& settings);

// The same inputs on a device.
struct GpuInputs {
  Tensor q, k, v;
  GpuInputs(const Inputs& inputs, Device device)
      : q(copy_of(inputs.q, device)), k(copy_of(inputs.k, device)), v(copy_of(inputs.v, device)) {}
};

// How far an output may be from float64: 16-bit kernels round the weights to the type of the values, of which
// none is above 1.74.
double gpu_bound(DType dtype);

// Runs it; false, with a note in the report, where the device does not have the operation.
bool is_there(Report& report, const std::function<void()>& measure);

// Case, time, rate in TFLOP/s or TB/s, quartiles of the time, error.
draw::Table gpu_table(std::string title, std::span<const Record> records);

}  // namespace attend::bench
