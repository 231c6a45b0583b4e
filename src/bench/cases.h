// What is measured.
#pragma once

#include <vector>

#include "bench/record.h"

namespace attend::bench {

struct AttentionCase {
  Shape shape;
  DType dtype = DType::f32;
  Direction direction = Direction::forward;
  bool causal = false;
};
std::string to_string(
    const AttentionCase& attention_case);  // "fwd causal 1,12,512,64", and "bf16" where it is

// The shapes at which other engines' figures are known (docs/benchmarks.md), those of small encoders, the
// head sizes that kernels are tuned for, grouped heads, 16-bit storage. Quick: the short ones.
std::vector<AttentionCase> attention_cases(bool quick);

}  // namespace attend::bench
