// fp32 gradients against the float64 reference: every pair of options and shapes, on every instruction set.
#include <attend/attention_backward.h>
#include <attend/isa.h>
#include <attend/threads.h>
#include <gtest/gtest.h>

#include <iostream>
#include <utility>

#include "attention/backward_grid.h"
#include "support/covering_array.h"
#include "support/gradient_set.h"
#include "support/sanitized.h"

namespace attend {
namespace {

TEST(BackwardFused, EveryPairOfShapesAndOptionsIsExactOnEveryInstructionSet) {
  const auto rows = covering_array(backward_knob_sizes());
  double worst = 0;
  std::int64_t tested = 0;
  std::uint64_t seed = 1;
  for (const auto& row : rows) {
    AttentionCase c = backward_case(row);
    c.seed = 100 * seed++;
    if (kSanitized && c.queries * c.keys > 65 * 65) continue;
    ++tested;
    const AttentionInputs in = make_inputs(c);
    const Tensor d_out = random_d_out(in, DType::f32, c.seed);
    const GradientSet expected = reference_gradients(in, d_out);
    for (const std::string& isa : available_isas()) {
      set_isa(isa);
      std::string where;
      const double error = largest_error(fused_gradients(in, d_out), expected, where);
      worst = std::max(worst, error);
      ASSERT_LE(error, kBackwardBound) << where << " on " << isa << ": " << describe(c);
    }
  }
  set_isa("");
  std::cout << tested << " cases, largest error " << worst << "\n";
}

// Products of bf16 on every instruction set that has them: weights and what changes them keep 8 bits, and so
// does each gradient, by its largest number.
TEST(BackwardFused, ProductsOfBf16KeepTheirDigits) {
  double worst = 0;
  std::uint64_t seed = 1;
  for (const auto& row : covering_array(backward_knob_sizes())) {
    AttentionCase c = backward_case(row);
    c.seed = 100 * seed++;
    c.dtype = DType::bf16;
    if (kSanitized && c.queries * c.keys > 65 * 65) continue;
    const AttentionInputs in = make_inputs(c);
    const Tensor d_out = copy_of(random_d_out(in, DType::bf16, c.seed), DType::f32);
    const GradientSet expected = reference_gradients(in, d_out);
    for (const std::string& isa : available_isas(Precision::bf16)) {
      if (isa != "avx512_amx" && isa != "avx512_bf16") continue;
      set_isa(isa);
      std::string where;
      const double error = largest_error(fused_gradients(in, d_out), expected, where);
      worst = std::max(worst, error);
      ASSERT_LE(error, 0x1p-7) << where << " on " << isa << ": " << describe(c);
    }
  }
  set_isa("");
  std::cout << "largest error of products in bf16 " << worst << "\n";
}

// Parts of half a block, of a block, and of several: with one thread and with many.
TEST(BackwardFused, LongSequencesAreExactHoweverTheyAreCut) {
  for (const auto& [queries, keys] : {std::pair{130, 700}, std::pair{200, 1300}, std::pair{20, 8300}}) {
    AttentionCase c;
    c.queries = queries;
    c.keys = keys;
    c.group = 2;
    c.d = 5;
    c.dv = 16;
    c.causal = true;
    c.offset = CaseOffset::bottom_right;
    c.bias = CaseBias::per_key;
    const AttentionInputs in = make_inputs(c);
    const Tensor d_out = random_d_out(in, DType::f32, 1);
    const GradientSet expected = reference_gradients(in, d_out);
    for (const std::string& isa : available_isas()) {
      set_isa(isa);
      set_threads(1);
      const GradientSet alone = fused_gradients(in, d_out);
      std::string where;
      EXPECT_LE(largest_error(alone, expected, where), kBackwardBound)
          << where << " on " << isa << ": " << describe(c);
      set_threads(3);
      EXPECT_TRUE(same_gradients(alone, fused_gradients(in, d_out))) << isa << ": " << describe(c);
    }
  }
  set_threads(0);
  set_isa("");
}

}  // namespace
}  // namespace attend
