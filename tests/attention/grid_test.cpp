// fp32 against float64 over a pairwise covering array of the numerics grid, and what 16-bit storage costs.
#include <attend/reference.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "attention/grid.h"
#include "support/compare.h"
#include "support/covering_array.h"

namespace attend {
namespace {

TEST(Grid, EveryPairOfShapesAndOptionsIsExact) {
  const auto rows = covering_array(grid_knob_sizes());
  std::cout << rows.size() << " cases cover every pair of " << grid_knob_sizes().size() << " knobs"
            << ", lengths up to " << longest_of_grid() << "\n";
  std::uint64_t seed = 1;
  for (const auto& row : rows) {
    AttentionCase c = grid_case(row);
    c.seed = 100 * seed++;
    c.dtype = DType::f32;  // every pair of lengths in fp32 and in bf16; isa_test turns the types
    if (c.precision != Precision::bf16) c.precision.reset();
    expect_exact(c);
    if (HasFatalFailure()) return;
  }
}

// Large scores: an error of the score is a relative error of its weight, and fp32 rounds a score in
// proportion to its size. Found by the full grid with scale 0.4 at d = 256: 1.1e-5.
TEST(Grid, TheErrorGrowsNoFasterThanTheScores) {
  AttentionCase c;
  c.key_heads = 12;
  c.queries = 3;
  c.keys = 511;
  c.d = c.dv = 256;
  for (const double scale : {0.1, 0.4, 1.0}) {
    AttentionInputs in = make_inputs(c);
    in.options.scale = scale;
    Tensor expected = in.output(DType::f64);
    reference::attention(in.q, in.k, in.v, in.options, expected);
    double largest = 1;
    for (const double score : values_of(reference::attention_rows(in.q, in.k, in.options, Stage::scores))) {
      largest = std::max(largest, std::abs(score));
    }
    EXPECT_LE(max_abs_difference(attention(in.q, in.k, in.v, in.options), expected), 1e-6 * largest) << scale;
  }
}

// What storage in 16 bits costs: no more than twice the error of computing in 16 bits throughout.
TEST(Grid, HalfPrecisionStorageComputesInF32OrInItself) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    for (const std::int64_t length : {1, 7, 33, 128}) {
      AttentionCase c;
      c.queries = c.keys = length;
      c.key_heads = 2;
      c.d = c.dv = 64;
      c.dtype = dtype;
      c.precision = Precision::f32;
      c.causal = true;
      const AttentionInputs in = make_inputs(c);
      Tensor expected = in.output(DType::f64);
      reference::attention(in.q, in.k, in.v, in.options, expected);
      const Tensor out = attention(in.q, in.k, in.v, in.options);
      EXPECT_EQ(out.dtype(), dtype);
      Tensor wide = in.output(DType::f32);
      attention(in.q, in.k, in.v, in.options, wide);
      EXPECT_LE(max_abs_difference(wide, expected), kGridBound);
      EXPECT_TRUE(same_bits(out, copy_of(wide, dtype)));

      // The naive path rounds the weights, the one thing that must be stored between its two products, and
      // the result.
      const Tensor weights =
          copy_of(reference::attention_rows(in.q, in.k, in.options, Stage::weights), dtype);
      double naive = 0;
      for (std::int64_t h = 0; h < 2; ++h) {
        const auto w = values_of(weights.view().select(0, 0).select(0, h));
        const auto v = values_of(in.v.select(0, 0).select(0, h));
        const auto e = values_of(expected.view().select(0, 0).select(0, h));
        for (std::size_t i = 0; i < static_cast<std::size_t>(length); ++i) {
          for (std::size_t x = 0; x < 64; ++x) {
            double sum = 0;
            for (std::size_t j = 0; j < static_cast<std::size_t>(length); ++j) {
              sum += w[i * static_cast<std::size_t>(length) + j] * v[j * 64 + x];
            }
            const Tensor rounded = copy_of(Tensor::from<double>({1}, {sum}), dtype);
            naive = std::max(naive, difference(values_of(rounded)[0], e[i * 64 + x]));
          }
        }
      }
      EXPECT_LE(max_abs_difference(out, expected), 2 * naive) << name_of(dtype) << " " << length;
      AttentionOptions own = in.options;  // products in bf16, where the tensors are and the machine can
      own.precision.reset();
      EXPECT_LE(max_abs_difference(attention(in.q, in.k, in.v, own), expected), 2 * naive)
          << name_of(dtype) << " " << length;
    }
  }
}

}  // namespace
}  // namespace attend
