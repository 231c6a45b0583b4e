// Multi-head attention: what it is made of, and what must not change it.
#include <attend/multi_head.h>
#include <attend/threads.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "nn/multi_head_inputs.h"
#include "support/compare.h"

namespace attend {
namespace {

constexpr std::pair<DType, double> kPrecisions[] = {{DType::f64, 1e-13}, {DType::f32, 1e-5}};

// x w + bias by hand, in float64: x (B, L, E), w (E, F).
Tensor project_rows(ConstTensorView x, ConstTensorView w, ConstTensorView bias) {
  const std::vector<double> a = values_of(x), b = values_of(w);
  const std::vector<double> c = bias.given() ? values_of(bias) : std::vector<double>(b.size());
  Tensor out(DType::f64, {x.size(0), x.size(1), w.size(1)});
  const auto inner = static_cast<std::size_t>(w.size(0)), columns = static_cast<std::size_t>(w.size(1));
  for (std::size_t place = 0; place < out.values<double>().size(); ++place) {
    const std::size_t row = place / columns, column = place % columns;
    double sum = c[column];
    for (std::size_t i = 0; i < inner; ++i) sum += a[row * inner + i] * b[i * columns + column];
    out.values<double>()[place] = sum;
  }
  return out;
}

// The definition: each head by itself, from its own columns; then side by side; then projected.
Tensor one_head_at_a_time(ConstTensorView x, ConstTensorView context, const MultiHeadWeights& w,
                          std::int64_t heads, const AttentionOptions& options = {}) {
  const std::int64_t d = w.wq.size(1) / heads, key_heads = w.wk.size(1) / d, dv = w.wv.size(1) / key_heads;
  Tensor concat(DType::f64, {x.size(0), x.size(1), heads * dv});
  for (std::int64_t h = 0; h < heads; ++h) {
    const auto head = [](ConstTensorView input, ConstTensorView weight, ConstTensorView bias, std::int64_t at,
                         std::int64_t size) {
      const ConstTensorView own =
          bias.given() ? bias.slice(0, at * size, (at + 1) * size) : ConstTensorView();
      return project_rows(input, weight.slice(1, at * size, (at + 1) * size), own);
    };
    const std::int64_t key_head = h / (heads / key_heads);
    const Tensor q = head(x, w.wq, w.bq, h, d), k = head(context, w.wk, w.bk, key_head, d);
    const Tensor v = head(context, w.wv, w.bv, key_head, dv);
    const Tensor out =
        attention(q.view().with_axis(1), k.view().with_axis(1), v.view().with_axis(1), options);
    copy(out.view().select(1, 0), concat.view().slice(2, h * dv, (h + 1) * dv));
  }
  return w.wo.given() ? project_rows(concat, w.wo, w.bo) : std::move(concat);
}

TEST(MultiHead, EqualsItsHeadsOneAtATime) {
  for (const auto& [heads, key_heads] :
       {std::pair{1, 1}, {2, 2}, {4, 4}, {4, 2}, {4, 1}}) {  // the last two: grouped and multi-query
    for (const auto& [dtype, bound] : kPrecisions) {
      const MultiHeadInputs in(dtype, {.heads = heads, .key_heads = key_heads});
      const MultiHeadWeights all = in.weights();
      MultiHeadWeights no_biases = all, no_output = all, some_biases = all;
      no_biases.bq = no_biases.bk = no_biases.bv = no_biases.bo = {};
      no_output.wo = no_output.bo = {};
      some_biases.bk = some_biases.bo = {};
      for (const MultiHeadWeights& w : {all, no_biases, no_output, some_biases}) {
        EXPECT_LT(max_abs_difference(multi_head_of(in.x, in.context, w, heads),
                                     one_head_at_a_time(in.x, in.context, w, heads)),
                  bound);
      }
    }
  }
}

TEST(MultiHead, SelfAttentionIsXAsItsOwnContext) {
  for (const auto& [dtype, bound] : kPrecisions) {
    const MultiHeadInputs in(dtype, {.eq = 6});
    AttentionOptions causal;
    causal.causal = true;
    EXPECT_LT(max_abs_difference(multi_head_of(in.x, in.x, in.weights(), 4, causal),
                                 one_head_at_a_time(in.x, in.x, in.weights(), 4, causal)),
              bound);
  }
}

// One head, one batch entry, no biases, no output projection: single_head_attention().
TEST(MultiHead, OfOneHeadIsSingleHeadAttention) {
  const MultiHeadInputs in(DType::f32, {.batch = 1, .heads = 1, .key_heads = 1, .eq = 6});
  const MultiHeadWeights weights{.wq = in.wq, .wk = in.wk, .wv = in.wv};
  const Tensor single = single_head_attention(in.x.view().select(0, 0), in.wq, in.wk, in.wv).output;
  EXPECT_TRUE(same_bits(multi_head_of(in.x, in.x, weights, 1), single.view().with_axis(0)));
}

// As torch.nn.Linear stores it: (out, in).
TEST(MultiHead, WeightsStoredTheOtherWayRound) {
  const MultiHeadInputs in(DType::f32);
  const Tensor wq = copy_of(in.wq.view().transposed(0, 1)), wk = copy_of(in.wk.view().transposed(0, 1));
  const Tensor wv = copy_of(in.wv.view().transposed(0, 1)), wo = copy_of(in.wo.view().transposed(0, 1));
  MultiHeadWeights weights = in.weights();
  weights.wq = wq.view().transposed(0, 1);
  weights.wk = wk.view().transposed(0, 1);
  weights.wv = wv.view().transposed(0, 1);
  weights.wo = wo.view().transposed(0, 1);
  EXPECT_TRUE(same_bits(multi_head_of(in.x, in.context, weights, 4),
                        multi_head_of(in.x, in.context, in.weights(), 4)));
}

TEST(MultiHead, AnyStrides) {
  const MultiHeadInputs in(DType::f32);
  const Tensor x = copy_of(in.x.view().transposed(0, 2));  // columns outermost
  Tensor context(DType::f32, {2, 10, 6}), biases(DType::f32, {12, 2});
  const ConstTensorView every_other(context.values<float>().data(), {2, 5, 6}, {60, 12, 1});
  copy(in.context, TensorView(context.values<float>().data(), {2, 5, 6}, {60, 12, 1}));
  copy(in.bq, biases.view().select(1, 1));
  MultiHeadWeights weights = in.weights();
  weights.bq = biases.view().select(1, 1);
  for (const bool project : {true, false}) {
    if (!project) weights.wo = weights.bo = {};
    MultiHeadWeights plain = in.weights();
    if (!project) plain.wo = plain.bo = {};
    const Tensor expected = multi_head_of(in.x, in.context, plain, 4);
    Tensor out(DType::f32, {expected.size(2), 4, 2});
    multi_head_attention(x.view().transposed(0, 2), every_other, weights, 4, {}, out.view().transposed(0, 2));
    EXPECT_TRUE(same_bits(out.view().transposed(0, 2), expected));
  }
}

TEST(MultiHead, EmptyInputs) {
  const auto run = [](const MultiHeadSizes& sizes) {
    const MultiHeadInputs in(DType::f32, sizes);
    return multi_head_of(in.x, in.context, in.weights(), sizes.heads);
  };
  EXPECT_EQ(run({.batch = 0}).shape(), (Dims{0, 4, 7}));
  EXPECT_EQ(run({.queries = 0}).shape(), (Dims{2, 0, 7}));
  EXPECT_EQ(run({.eo = 0}).shape(), (Dims{2, 4, 0}));
  // Nothing to look at, or nothing to see there: every head gives 0, and the output is its bias.
  for (const MultiHeadSizes& sizes : {MultiHeadSizes{.keys = 0}, MultiHeadSizes{.dv = 0}}) {
    const Tensor out = run(sizes);
    for (std::int64_t row = 0; row < 4; ++row) {
      EXPECT_TRUE(same_bits(out.view().select(0, 1).select(0, row), MultiHeadInputs(DType::f32, sizes).bo));
    }
  }
  // Vectors without elements: the projections are their biases, and all keys weigh the same.
  const MultiHeadInputs in(DType::f64, {.eq = 0, .ek = 0});
  EXPECT_LT(
      max_abs_difference(run({.eq = 0, .ek = 0}), one_head_at_a_time(in.x, in.context, in.weights(), 4)),
      1e-5);
}

TEST(MultiHead, PermutingTheTokensPermutesTheResult) {
  const std::vector<std::int64_t> order = {2, 0, 3, 1};
  for (const auto& [dtype, bound] : kPrecisions) {
    const MultiHeadInputs in(dtype, {.eq = 6});
    const auto permuted = [&](const Tensor& tensor) {
      Tensor result(tensor.dtype(), tensor.shape());
      for (std::int64_t i = 0; i < 4; ++i) {
        copy(tensor.view().select(1, order[static_cast<std::size_t>(i)]), result.view().select(1, i));
      }
      return result;
    };
    const Tensor other = permuted(in.x);
    EXPECT_LT(max_abs_difference(multi_head_of(other, other, in.weights(), 4),
                                 permuted(multi_head_of(in.x, in.x, in.weights(), 4))),
              bound);
  }
}

// Looking inside: the projected heads, given to attention() with the same options, are the same computation.
TEST(MultiHead, OptionsAndRowStatePassThrough) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const MultiHeadInputs in(dtype);
    MultiHeadWeights weights = in.weights();
    weights.wo = weights.bo = {};
    const ProjectedHeads heads = project_heads(in.x, in.context, weights, 4);
    ASSERT_EQ(heads.q.shape(), (Dims{2, 4, 4, 3}));
    ASSERT_EQ(heads.k.shape(), (Dims{2, 2, 5, 3}));
    ASSERT_EQ(heads.v.shape(), (Dims{2, 2, 5, 2}));

    const Tensor mask = random_boolean({2, 1, 4, 5}, 20), bias = random_normal({4, 4, 5}, dtype, 21);
    std::vector<AttentionOptions> ways(8);
    ways[1].causal = true;
    ways[1].query_offset = QueryOffset::bottom_right();
    ways[2].mask = mask;
    ways[3].bias = bias;
    ways[4].key_lengths = {3, 0};
    ways[5].window = {1, 1};
    ways[5].softcap = 2;
    ways[6].alibi_slopes = {0.5, 0.25, 0.125, 0.0625};
    ways[6].sinks = {0, 1, -1, 0.5};
    ways[7].scale = 0.25;
    for (const AttentionOptions& options : ways) {
      Tensor out(dtype, in.concat_shape()), expected(dtype, {2, 4, 4, 2});
      RowState state(heads.q), expected_state(heads.q);
      multi_head_attention(in.x, in.context, weights, 4, options, out, state);
      attention(heads.q, heads.k, heads.v, options, expected, expected_state);
      EXPECT_TRUE(same_bits(out.view().split(2, 4, 2).transposed(1, 2), expected));
      EXPECT_TRUE(same_bits(state.max, expected_state.max));
      EXPECT_TRUE(same_bits(state.sum, expected_state.sum));

      Tensor projected(dtype, in.output_shape());  // the row state is the same in front of a projection
      RowState projected_state(heads.q);
      multi_head_attention(in.x, in.context, in.weights(), 4, options, projected, projected_state);
      EXPECT_TRUE(same_bits(projected_state.max, expected_state.max));
      EXPECT_LT(max_abs_difference(projected, project_rows(out, in.wo, in.bo)),
                dtype == DType::f64 ? 1e-14 : 1e-5);
    }
  }
}

TEST(MultiHead, SameBitsWithAnyNumberOfThreadsAndInAnyBatch) {
  const MultiHeadSizes sizes{
      .batch = 3, .queries = 130, .keys = 70, .d = 16, .dv = 16, .eq = 48, .ek = 40, .eo = 33};
  for (const DType dtype : {DType::f32, DType::f64}) {
    const MultiHeadInputs in(dtype, sizes);
    set_threads(1);
    const Tensor expected = multi_head_of(in.x, in.context, in.weights(), 4);
    for (const int count : {2, 3, 8}) {
      set_threads(count);
      EXPECT_TRUE(same_bits(multi_head_of(in.x, in.context, in.weights(), 4), expected)) << count;
      const Tensor alone =
          multi_head_of(in.x.view().slice(0, 1, 2), in.context.view().slice(0, 1, 2), in.weights(), 4);
      EXPECT_TRUE(same_bits(alone, expected.view().slice(0, 1, 2))) << count;
    }
    set_threads(0);
  }
}

}  // namespace
}  // namespace attend
