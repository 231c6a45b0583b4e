// Top keys, entropy and received by the tensor cores of compute capability 9.0: what a launch is given.
#pragma once

#include <cuda.h>

#include "cuda/hopper/schedule.h"
#include "cuda/weights.h"

namespace attend::cuda {

inline constexpr int kMostTop = 8;

// Sums of columns, of each half of each part of the queries; no data: not wanted.
struct PartSums {
  float* data = nullptr;
  std::int64_t part = 0, sequence = 0, head = 0;  // strides; the keys of a sequence lie side by side

  ATTEND_BOTH std::int64_t at(std::int64_t p, std::int64_t s, std::int64_t h, std::int64_t key) const {
    return p * part + s * sequence + h * head + key;
  }
};

struct HopperSummary {
  CUtensorMap q, k;
  Problem problem;
  Placed max, sum;  // the row state
  SummaryTarget target;
  PartSums sums;
  Schedule schedule;  // of parts
  double scale;
  float log2_scale;  // scale * log2(e)
};

template <int kD>
void launch_summary(plugin::Place place, const HopperSummary& parameters, int blocks);

extern template void launch_summary<64>(plugin::Place, const HopperSummary&, int);
extern template void launch_summary<128>(plugin::Place, const HopperSummary&, int);

// 16-bit tensors, head sizes up to 128, causal, windows, lengths and sinks, up to 8 top keys. The row state
// is given.
bool hopper_summarizes(plugin::Place place, const plugin::Attention& call);
void hopper_summary(plugin::Place place, const plugin::Attention& call, const Problem& problem,
                    const plugin::RowState& state, const SummaryTarget& target);

}  // namespace attend::cuda
