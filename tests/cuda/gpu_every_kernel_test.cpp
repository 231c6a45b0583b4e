// Every kernel of the GPU once, on tensors small enough for compute-sanitizer, which is some thousand times
// as slow: forward passes of every head size and option, few queries, backward, and weights on demand. More
// tiles of keys than a block holds at a time, some of them hidden in part, most not, and values that are not
// finite.
#include <attend/attention.h>
#include <attend/attention_backward.h>
#include <attend/reference.h>
#include <attend/weights.h>
#include <gtest/gtest.h>

#include <limits>

#include "cuda/gpu_gradients.h"
#include "cuda/on_gpu.h"
#include "support/compare.h"
#include "support/random.h"

namespace attend {
namespace {

AttentionCase small_case(DType dtype, std::int64_t d, std::int64_t queries, std::int64_t keys) {
  AttentionCase c;
  c.group = 2;
  c.queries = queries;
  c.keys = keys;
  c.d = c.dv = d;
  c.dtype = dtype;
  c.causal = true;
  c.offset = CaseOffset::bottom_right;
  return c;
}

void expect_right_output(const AttentionCase& c, const AttentionInputs& in) {
  const GpuInputs there(in);
  Tensor out = there.output(DType::f32), expected = in.output(DType::f64);
  RowState state(there.q);
  attention(there.q, there.k, there.v, there.options, out, state);
  reference::attention(in.q, in.k, in.v, in.options, expected);
  EXPECT_LE(max_abs_difference(to_host(out), expected), 0.02) << describe(c);
}
void expect_right_output(const AttentionCase& c) { expect_right_output(c, make_inputs(c)); }

TEST(GpuEveryKernel, ForwardOfEveryHeadSize) {
  ATTEND_NEEDS_GPU();
  for (const std::int64_t d : {64, 128, 192, 256}) {
    for (const DType dtype : {DType::bf16, DType::f16}) expect_right_output(small_case(dtype, d, 150, 850));
  }
  expect_right_output(small_case(DType::f32, 72, 40, 60));  // portable
}

TEST(GpuEveryKernel, ForwardWithEveryOption) {
  ATTEND_NEEDS_GPU();
  for (const std::int64_t d : {64, 128}) {
    for (int option = 0; option < 6; ++option) {
      AttentionCase c = small_case(DType::bf16, d, 140, 500);
      c.softcap = option == 0 || option == 4;
      c.alibi = option == 1;
      if (option == 2 || option == 4) c.mask = CaseMask::matrix;
      if (option == 3) c.bias = CaseBias::matrix;
      c.dropout = option == 5;
      c.sinks = option == 1;
      expect_right_output(c);
    }
  }
}

TEST(GpuEveryKernel, ForwardAroundHiddenValuesThatAreNotFinite) {
  ATTEND_NEEDS_GPU();
  const Tensor q = random_normal({1, 2, 140, 64}, DType::bf16, 1),
               k = random_normal({1, 1, 500, 64}, DType::bf16, 2);
  Tensor v = random_normal({1, 1, 500, 64}, DType::bf16, 3), strange = copy_of(v);
  fill(strange.view().slice(2, 490, 500), std::numeric_limits<double>::quiet_NaN());
  AttentionOptions options;
  options.key_lengths = {490};
  Tensor out(DType::f32, q.shape(), kGpu), expected(DType::f64, q.shape());
  const Tensor q_there = to_gpu(q), k_there = to_gpu(k), v_there = to_gpu(strange);
  attention(q_there, k_there, v_there, options, out);
  reference::attention(q, k, v, options, expected);
  EXPECT_LE(max_abs_difference(to_host(out), expected), 0.02);
}

TEST(GpuEveryKernel, FewQueries) {
  ATTEND_NEEDS_GPU();
  for (const std::int64_t d : {64, 128, 192, 256}) expect_right_output(small_case(DType::bf16, d, 3, 700));
}

TEST(GpuEveryKernel, Backward) {
  ATTEND_NEEDS_GPU();
  for (const std::int64_t d : {64, 128}) {
    const AttentionCase c = small_case(DType::bf16, d, 500, 500);
    const AttentionInputs in = make_inputs(c);
    const Tensor d_out = random_d_out(in, c.dtype, 1);
    const GradientSet got = gpu_gradients(in, d_out), expected = reference_gradients(in, d_out);
    EXPECT_LE(max_abs_difference(got.q, expected.q), 0.05) << describe(c);
    EXPECT_LE(max_abs_difference(got.k, expected.k), 0.05) << describe(c);
    EXPECT_LE(max_abs_difference(got.v, expected.v), 0.05) << describe(c);
  }
  AttentionCase c = small_case(DType::f32, 40, 60, 70);  // portable, with the gradients of options
  c.bias = CaseBias::matrix;
  c.sinks = true;
  const AttentionInputs in = make_inputs(c);
  const Tensor d_out = random_d_out(in, c.dtype, 2);
  const GradientSet got = gpu_gradients(in, d_out), expected = reference_gradients(in, d_out);
  EXPECT_LE(max_abs_difference(got.q, expected.q), 1e-4);
  EXPECT_LE(max_abs_difference(got.bias, expected.bias), 1e-4);
}

TEST(GpuEveryKernel, WeightsOnDemand) {
  ATTEND_NEEDS_GPU();
  const WeightsRequest fast{.top_k = 8, .received = true, .entropy = true},
      slow{.top_k = 9, .received = true, .entropy = true, .map_rows = 5, .map_columns = 5};
  for (const std::int64_t d : {64, 128}) {
    const AttentionInputs in = make_inputs(small_case(DType::bf16, d, 300, 500));
    const GpuInputs there(in);
    const WeightsSummary got = summarize_weights(there.q, there.k, there.options, fast),
                         expected = reference::summarize_weights(in.q, in.k, in.options, fast);
    EXPECT_LE(max_abs_difference(to_host(got.received), expected.received), 1e-4);
    EXPECT_LE(max_abs_difference(to_host(got.top_weights), expected.top_weights), 1e-4);
    EXPECT_LE(max_abs_difference(to_host(got.entropy), expected.entropy), 1e-4);
  }
  const AttentionInputs in = make_inputs(small_case(DType::bf16, 64, 60, 90));
  const GpuInputs there(in);
  const WeightsSummary got = summarize_weights(there.q, there.k, there.options, slow),
                       expected = reference::summarize_weights(in.q, in.k, in.options, slow);
  EXPECT_LE(max_abs_difference(to_host(got.map), expected.map), 1e-4);
  EXPECT_LE(max_abs_difference(to_host(got.top_weights), expected.top_weights), 1e-4);
}

}  // namespace
}  // namespace attend
