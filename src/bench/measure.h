// Measures calls and fills in their records.
#pragma once

#include <functional>
#include <span>

#include "bench/bench.h"
#include "bench/cases.h"
#include "bench/peak.h"

namespace attend::bench {

// A record with its description, flops (and bytes), and the call to measure.
struct MeasuredCall {
  Record& record;
  std::function<void()> run;
};

// Times the calls, alternating with each other, with the multiply-add peak and, if a reader is given, with
// reading memory. Fills in threads, times, peaks and shares.
void measure(std::span<const MeasuredCall> calls, const BenchSettings& settings,
             MemoryReader* reader = nullptr);

// The same for a single call that takes too long to repeat; the peak is measured before and after it.
void measure_once(Record& record, const std::function<void()>& run);

// One case, its answer checked and then timed.
Record measure_attention(const AttentionCase& one, const BenchSettings& settings);
Record measure_product(const ProductCase& one, const BenchSettings& settings);

}  // namespace attend::bench
