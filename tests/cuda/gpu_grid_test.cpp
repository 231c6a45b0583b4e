// The numerics grid of the CPU, computed on a GPU: every pair of lengths, head sizes, groups, strides, types
// and options against float64.
#include <attend/attention.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>

#include "attention/grid.h"
#include "cuda/on_gpu.h"
#include "support/covering_array.h"

namespace attend {
namespace {

// What the tensor cores' paths do to a weight before it meets its value.
WeightRounding rounding_of(const AttentionCase& c, const std::string& kernel) {
  if (kernel == "portable") return {};
  return c.dtype == DType::bf16 ? WeightRounding{0x1p-8, 0} : WeightRounding{0x1p-11, 0x1p-24};
}

void expect_exact_on_gpu(const AttentionCase& c, std::map<std::string, int>& kernels) {
  const AttentionInputs in = make_inputs(c);
  const GpuInputs there(in);
  Tensor out = there.output(DType::f32);
  fill(out, 12345);  // every element is to be written
  RowState state(there.q);
  attention(there.q, there.k, there.v, there.options, out, state);
  Tensor lse(DType::f32, state.max.shape(), kGpu);
  log_sum_exp(state, lse);
  const std::string kernel(attention_kernel(there.q, there.k, there.options).name);
  ++kernels[kernel];
  expect_exact_output(c, in, to_host(out), to_host(lse), 20, rounding_of(c, kernel));
}

TEST(GpuGrid, EveryPairOfShapesAndOptionsIsExact) {
  ATTEND_NEEDS_GPU();
  const auto rows = covering_array(grid_knob_sizes());
  std::map<std::string, int> kernels;
  std::uint64_t seed = 1;
  for (const auto& row : rows) {
    AttentionCase c = grid_case(row);
    c.seed = 100 * seed++;
    expect_exact_on_gpu(c, kernels);
    if (HasFailure()) std::cout << describe(c) << "\n";
    if (HasFatalFailure()) return;
  }
  for (const auto& [name, count] : kernels) std::cout << count << " cases by " << name << "\n";
}

// 16-bit cases at the sizes of tiles and beside them, where the fast path has its seams.
TEST(GpuGrid, TheSeamsOfTiles) {
  ATTEND_NEEDS_GPU();
  std::map<std::string, int> kernels;
  std::uint64_t seed = 7;
  for (const std::int64_t d : {8, 40, 64, 96, 128, 160, 192, 256}) {
    for (const std::int64_t length : {1, 63, 64, 65, 127, 128, 129, 255, 256, 257, 384, 700}) {
      for (const DType dtype : {DType::bf16, DType::f16}) {
        AttentionCase c;
        c.batch = 2;
        c.key_heads = 2;
        c.group = 2;
        c.queries = length;
        c.keys = seed % 3 == 0 ? length : (length * 5) % 611 + 1;
        c.d = c.dv = d;
        c.dtype = dtype;
        c.causal = seed % 2 == 0;
        c.offset = seed % 5 == 0 ? CaseOffset::bottom_right : CaseOffset::top_left;
        c.window_left = seed % 7 == 0 ? 70 : -1;
        c.key_lengths = seed % 4 == 0;
        c.sinks = seed % 11 == 0;
        c.packed = seed % 13 == 0;
        c.seed = 1000 + seed++;
        expect_exact_on_gpu(c, kernels);
        if (HasFatalFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace attend
