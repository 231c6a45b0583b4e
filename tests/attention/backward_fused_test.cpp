// fp32 gradients against the float64 reference: every pair of options and shapes, on every instruction set.
#include <attend/attention_backward.h>
#include <attend/isa.h>
#include <attend/threads.h>
#include <gtest/gtest.h>

#include <iostream>
#include <utility>

#include "support/covering_array.h"
#include "support/gradient_set.h"
#include "support/sanitized.h"

namespace attend {
namespace {

constexpr double kFusedBound = 3e-5;  // three times that of the forward pass

const std::vector<std::int64_t> kFusedLengths = {0, 1, 2, 7, 16, 33, 48, 65, 129, 300};
const std::vector<std::int64_t> kFusedHeadSizes = {1, 3, 16, 31, 64, 80, 128, 257};

std::vector<int> knob_sizes() {
  return {static_cast<int>(kFusedLengths.size()),
          static_cast<int>(kFusedLengths.size()),
          static_cast<int>(kFusedHeadSizes.size()),
          3 /*dtype*/,
          2 /*causal*/,
          4 /*offset*/,
          4 /*window*/,
          5 /*mask*/,
          5 /*bias*/,
          4 /*memory*/,
          4 /*dv*/,
          2 /*group*/,
          2 /*key heads*/,
          2 /*batch*/,
          2 /*key lengths*/,
          2 /*alibi*/,
          2 /*softcap*/,
          2 /*sinks*/,
          2 /*scale*/,
          2 /*packed*/,
          2 /*dropout*/};
}

AttentionCase case_of(const std::vector<int>& row) {
  std::size_t knob = 0;
  const auto next = [&] { return static_cast<std::size_t>(row[knob++]); };
  AttentionCase c;
  c.queries = kFusedLengths[next()];
  c.keys = kFusedLengths[next()];
  c.d = kFusedHeadSizes[next()];
  c.dtype = std::vector<DType>{DType::f32, DType::bf16, DType::f16}[next()];
  c.causal = next() == 1;
  c.offset = static_cast<CaseOffset>(next());
  const Window window = std::vector<Window>{{}, {0, 0}, {3, -1}, {100, 40}}[next()];
  c.window_left = window.left;
  c.window_right = window.right;
  c.mask = static_cast<CaseMask>(next());
  c.bias = static_cast<CaseBias>(next());
  c.memory = static_cast<CaseMemory>(next());
  c.dv = std::vector<std::int64_t>{c.d, 1, 8, 65}[next()];
  c.group = 1 + static_cast<std::int64_t>(next());
  c.key_heads = 1 + static_cast<std::int64_t>(next());
  c.batch = 1 + static_cast<std::int64_t>(next());
  c.key_lengths = next() == 1;
  c.alibi = next() == 1;
  c.softcap = next() == 1;
  c.sinks = next() == 1;
  c.own_scale = next() == 1;
  c.packed = next() == 1;
  c.dropout = next() == 1;
  if (c.queries * c.keys > 129 * 129) c.batch = c.key_heads = 1;
  return c;
}

TEST(BackwardFused, EveryPairOfShapesAndOptionsIsExactOnEveryInstructionSet) {
  const auto rows = covering_array(knob_sizes());
  double worst = 0;
  std::int64_t tested = 0;
  std::uint64_t seed = 1;
  for (const auto& row : rows) {
    AttentionCase c = case_of(row);
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
      ASSERT_LE(error, kFusedBound) << where << " on " << isa << ": " << describe(c);
    }
  }
  set_isa("");
  std::cout << tested << " cases, largest error " << worst << "\n";
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
      EXPECT_LE(largest_error(alone, expected, where), kFusedBound)
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
