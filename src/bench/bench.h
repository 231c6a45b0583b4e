// The benchmarks. Each checks its answers, then times them in turns with the machine's peak.
#pragma once

#include <functional>
#include <string_view>

#include "bench/report.h"
#include "bench/timer.h"

namespace attend::bench {

struct Settings {
  bool quick = false;
  // Told what is being measured; for a line that comes and goes.
  std::function<void(std::string_view)> progress = [](std::string_view) {};

  Effort effort() const { return quick ? Effort{.seconds = 0.15, .rounds = 5} : Effort{}; }
};

// Attention, forward and backward, full and causal, as a share of the multiply-add peak.
Report bench_attention(const Settings& settings);

}  // namespace attend::bench
