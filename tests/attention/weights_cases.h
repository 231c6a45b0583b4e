// Calls of summarize_weights(): an attention case, what is asked of its weights, and how the answers are
// judged.
#pragma once

#include <attend/reference.h>
#include <attend/weights.h>

#include <string>
#include <vector>

#include "support/attention_case.h"

namespace attend {

struct WeightsCase {
  AttentionCase attention;
  WeightsRequest request;
  bool state_given = false;
};

std::string describe(const WeightsCase& c);

// A pairwise covering array of shapes, options, types and requests.
std::vector<WeightsCase> weights_cases();

// The summary straight from its definition: all weights first, then loops over them.
WeightsSummary defined_summary(const AttentionInputs& in, const WeightsRequest& request);

// Asserts that got is the reference's summary: numbers within `bound` (relative to sizes above 1), -1 and NaN
// in the same places, and top keys that the reference gives the weight they stand for. Fatal gtest
// assertions.
void expect_summary(const AttentionInputs& in, const WeightsSummary& got, const WeightsSummary& expected,
                    double bound);

// The same of one tensor. Far from the diagonal ALiBi makes scores of hundreds, which f32 rounds accordingly.
void expect_close(const char* what, const Tensor& got, const Tensor& expected, double bound);

// Every tensor of the two: the same bits.
bool same_bits(const WeightsSummary& a, const WeightsSummary& b);

}  // namespace attend
