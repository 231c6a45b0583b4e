// The numerics grid: lengths, head sizes, groups, strides and options as knobs, and the check of one case.
#pragma once

#include <limits>
#include <vector>

#include "support/attention_case.h"

namespace attend {

inline constexpr double kGridBound = 1e-5;  // largest absolute error of fp32 at |x| ~ 1

// How many values each knob has: lengths of queries and keys first, then head sizes, the rest behind them.
inline constexpr std::size_t kQueryKnob = 0, kKeyKnob = 1, kHeadSizeKnob = 2, kGroupKnob = 9;
std::vector<int> grid_knob_sizes();
std::int64_t longest_of_grid();  // a sanitizer and an emulator get less
AttentionCase grid_case(const std::vector<int>& row);

// Attention in fp32 against float64 of the same inputs, which may be stored in 16 bits: output and
// log-sum-exp; long sequences by sampled rows. A gtest assertion that can fail fatally. Beyond scores of size
// `near` the bound grows with them, as their rounding does: ALiBi far from the diagonal makes scores of
// hundreds.
void expect_exact(const AttentionCase& c, double near = std::numeric_limits<double>::infinity());

// The judgement alone: an output and a log-sum-exp, both f32 on the host, that somebody made of these inputs.
// `rounding`: the relative error of each weight, where weights are rounded to 16 bits before they meet
// values, and the least that such a weight can hold.
struct WeightRounding {
  double relative = 0, least = 0;
};
// bf16 has 8 bits: a weight that is rounded to it is off by up to 2^-8 of itself, and so is the sum of
// rounded weights by which the output is divided.
inline constexpr WeightRounding kBf16Weights{0x1p-7, 0};
void expect_exact_output(const AttentionCase& c, const AttentionInputs& in, ConstTensorView out,
                         ConstTensorView lse, double near = std::numeric_limits<double>::infinity(),
                         WeightRounding rounding = {});

}  // namespace attend
