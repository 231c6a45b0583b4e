// The benchmarks. Each checks its answers, then times them, alternating with measurements of the machine's
// peak.
#pragma once

#include <attend/device.h>
#include <attend/processes.h>

#include <functional>
#include <string_view>

#include "bench/report.h"
#include "bench/timer.h"

namespace attend::bench {

struct BenchSettings {
  bool quick = false;
  // Called with what is being measured; for a status line.
  std::function<void(std::string_view)> progress = [](std::string_view) {};

  Effort effort() const { return quick ? Effort{.seconds = 0.15, .rounds = 5} : Effort{}; }
};

// Attention, forward and backward, full and causal, as a share of the multiply-add peak.
Report bench_attention(const BenchSettings& settings);

// The matrix product with packed weights, as a share of the multiply-add peak.
Report bench_matmul(const BenchSettings& settings);

// The same products, and attention, in each precision, with the error of each.
Report bench_precision(const BenchSettings& settings);

// What more threads gain: the same cases on 1, 2, 4, ... of them.
Report bench_threads(const BenchSettings& settings);

// What weights on demand cost compared with the output alone, and that memory stays O(n).
Report bench_weights(const BenchSettings& settings);

// One query on a long cache of keys and values, as a share of the speed at which memory is read.
Report bench_decode(const BenchSettings& settings);

// Time and memory by length, compared with an attention that stores the n x n matrix, until that does not
// fit.
Report bench_length(const BenchSettings& settings);

// One sequence over several processes, in every way, beside one process: time, what was sent and what was
// predicted, and how far the results are apart. All of them call it; each makes the same report.
Report bench_ring(const BenchSettings& settings, Processes& processes);

// On a GPU, without a peak to compare with: forward and backward; options at one shape; one query on long
// caches; weights on demand beside the output. What the device does not have is left out, and said so.
Report bench_gpu_attention(const BenchSettings& settings, Device device);
Report bench_gpu_options(const BenchSettings& settings, Device device);
Report bench_gpu_decode(const BenchSettings& settings, Device device);
Report bench_gpu_weights(const BenchSettings& settings, Device device);

}  // namespace attend::bench
