// Fills in the measured part of records.
#pragma once

#include <functional>
#include <span>

#include "bench/bench.h"
#include "bench/peak.h"

namespace attend::bench {

// A record that says what it is, with its flops (and bytes), and the call that it is about.
struct MeasuredCall {
  Record& record;
  std::function<void()> run;
};

// Times the calls in turns with each other and with the multiply-add peak, and with the reading of memory
// where a reader is given. Threads, times, peaks and shares are then filled in.
void measure(std::span<const MeasuredCall> calls, const BenchSettings& settings,
             MemoryReader* reader = nullptr);

// The same for one call that is too long to be repeated; the peak is measured before and after it.
void measure_once(Record& record, const std::function<void()>& run);

}  // namespace attend::bench
