// Products of bf16 numbers: when they are used, what is rounded and what is not, and the promises that hold
// for every kernel. The grid and the properties (grid_test, isa_test, properties_test) have the precision as
// one more option; where the machine has no instructions for bf16, all of this is about the kernels of f32.
#include <attend/attention_backward.h>
#include <attend/isa.h>
#include <attend/reference.h>
#include <attend/threads.h>
#include <attend/weights.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "attention/grid.h"
#include "support/compare.h"
#include "support/each_isa.h"
#include "support/not_finite.h"
#include "support/random.h"
#include "support/refuses.h"

namespace attend {
namespace {

constexpr double kHuge = std::numeric_limits<double>::infinity();

bool has_amx() { return isa(Precision::bf16) == "avx512_amx"; }
bool has_bf16() { return has_amx() || isa(Precision::bf16) == "avx512_bf16"; }

// The instruction sets that multiply bf16, each in its own way, and the best that does not.
std::vector<std::string> ways_to_multiply() {
  std::vector<std::string> ways;
  for (const std::string& name : available_isas(Precision::bf16)) {
    ways.push_back(name);
    if (name != "avx512_amx" && name != "avx512_bf16") break;
  }
  return ways;
}

class Precisions : public EachIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, Precisions, testing::ValuesIn(ways_to_multiply()), isa_name);

// Long enough for the kernel that takes tiles of queries, for several tiles of keys and an odd last pair.
AttentionCase tiled_case() {
  AttentionCase c;
  c.key_heads = 2;
  c.group = 2;
  c.queries = 61;
  c.keys = 301;
  c.d = 31;
  c.dv = 17;
  return c;
}

Tensor in_f32(const AttentionInputs& in, ConstTensorView q, ConstTensorView k, ConstTensorView v,
              const AttentionOptions& options) {
  Tensor out = in.output(DType::f32);
  attention(q, k, v, options, out);
  return out;
}

double error_of(const AttentionInputs& in, const Tensor& out) {
  Tensor expected = in.output(DType::f64);
  reference::attention(in.q, in.k, in.v, in.options, expected);
  return max_abs_difference(out, expected);
}

TEST_P(Precisions, TypeAndOptionDecideTogether) {
  const auto name = [](DType dtype, std::optional<Precision> precision, std::int64_t queries = 9) {
    AttentionOptions options;
    options.precision = precision;
    return attention_kernel(Tensor(dtype, {1, 1, queries, 8}), Tensor(dtype, {1, 1, 20, 8}), options).name;
  };
  const std::string_view in_bf16 = has_amx() ? "fused_amx_bf16" : has_bf16() ? "fused_bf16" : "fused";
  EXPECT_EQ(name(DType::f32, {}), "fused");
  EXPECT_EQ(name(DType::f16, {}), "fused");
  EXPECT_EQ(name(DType::bf16, {}), in_bf16);
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    EXPECT_EQ(name(dtype, Precision::f32), "fused");
    EXPECT_EQ(name(dtype, Precision::bf16), in_bf16);
    EXPECT_EQ(name(dtype, Precision::bf16, 8), "decode");
    EXPECT_REFUSES(name(dtype, Precision::int8), "precision is int8, expected f32 or bf16");
  }
  EXPECT_EQ(name(DType::f64, {}), "reference");
  EXPECT_REFUSES(name(DType::f64, Precision::bf16), "precision is bf16, but f64 is computed in f64");
}

// The tensors that are rounded are those that a caller could have rounded.
TEST_P(Precisions, F32AndF16AreRoundedOnceAndAsBf16) {
  for (const DType dtype : {DType::f32, DType::f16}) {
    for (const CaseMemory memory : {CaseMemory::row_major, CaseMemory::every_other, CaseMemory::backwards}) {
      AttentionCase c = tiled_case();
      c.dtype = dtype;
      c.memory = memory;
      c.causal = true;
      AttentionInputs in = make_inputs(c);
      const Tensor q = copy_of(in.q, DType::bf16), k = copy_of(in.k, DType::bf16),
                   v = copy_of(in.v, DType::bf16);
      if (!has_bf16()) continue;
      in.options.precision = Precision::bf16;
      EXPECT_TRUE(same_bits(in_f32(in, in.q, in.k, in.v, in.options), in_f32(in, q, k, v, in.options)));
    }
  }
}

TEST_P(Precisions, F32OnBf16TensorsIsExact) {
  AttentionCase c = tiled_case();
  c.dtype = DType::bf16;
  c.precision = Precision::f32;
  const AttentionInputs in = make_inputs(c);
  const Tensor q = copy_of(in.q, DType::f32), k = copy_of(in.k, DType::f32), v = copy_of(in.v, DType::f32);
  const Tensor out = in_f32(in, in.q, in.k, in.v, in.options);
  EXPECT_TRUE(same_bits(out, in_f32(in, q, k, v, in.options)));
  EXPECT_LE(error_of(in, out), kGridBound);
}

TEST_P(Precisions, AnOutputOf16BitsIsTheOneOf32Rounded) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    AttentionCase c = tiled_case();
    c.dtype = dtype;
    c.precision = Precision::bf16;
    const AttentionInputs in = make_inputs(c);
    const Tensor expected = copy_of(in_f32(in, in.q, in.k, in.v, in.options), dtype);
    EXPECT_TRUE(same_bits(attention(in.q, in.k, in.v, in.options), expected));
    // Every other element of the output, and heads inside.
    Dims shape = in.output_shape(), wide = shape;
    std::swap(wide[1], wide[2]);
    wide[3] *= 2;
    Tensor storage(dtype, wide);
    Dims strides = row_major_strides(wide);
    std::swap(strides[1], strides[2]);
    strides[3] = 2;
    const TensorView strided(storage.view().raw(), dtype, shape, strides);
    attention(in.q, in.k, in.v, in.options, strided);
    EXPECT_TRUE(same_bits(strided, expected));
  }
}

// Weights are rounded, and so is the sum that they are divided by: a mean of values stays one.
TEST_P(Precisions, TheOutputIsATrueMeanOfValues) {
  AttentionCase c = tiled_case();
  c.precision = Precision::bf16;
  AttentionInputs in = make_inputs(c);
  for (float& x : in.v_storage.values<float>()) x = 0.75;
  for (const double value : values_of(attention(in.q, in.k, in.v, in.options)))
    EXPECT_NEAR(value, 0.75, 1e-6);

  // One key outweighs the others: its value comes out unrounded.
  AttentionInputs peaked = make_inputs(c);
  Tensor bias(DType::f32, {1, c.keys});
  bias.values<float>()[200] = 60.7F;
  peaked.options.bias = bias;
  const Tensor out = attention(peaked.q, peaked.k, peaked.v, peaked.options);
  for (std::int64_t h = 0; h < c.query_heads(); ++h) {
    const auto value = values_of(peaked.v.select(0, 0).select(0, h / c.group).select(0, 200));
    for (std::int64_t i = 0; i < c.queries; ++i) {
      const auto row = values_of(out.view().select(0, 0).select(0, h).select(0, i));
      for (std::size_t x = 0; x < row.size(); ++x) EXPECT_NEAR(row[x], value[x], 1e-6);
    }
  }
}

// Scores that rise from key to key let the maximum outrun what was summed again and again, in the middle of
// tiles, with everything that can be going on there: masks, dropout, values that are not finite behind them.
TEST_P(Precisions, RisingScoresAreFollowed) {
  for (const bool dropout : {false, true}) {
    for (const bool masked : {false, true}) {
      AttentionCase c = tiled_case();
      c.precision = Precision::bf16;
      c.dropout = dropout;
      AttentionInputs in = make_inputs(c);
      Tensor rise(DType::f32, {1, c.keys}), mask(DType::boolean, {1, c.keys});
      for (std::int64_t j = 0; j < c.keys; ++j) {
        rise.values<float>()[static_cast<std::size_t>(j)] = static_cast<float>(j % 200) * 1.5F;
        mask.values<bool>()[static_cast<std::size_t>(j)] = j % 7 != 3;
      }
      in.options.bias = rise;
      if (masked) in.options.mask = mask;
      const Tensor clean = attention(in.q, in.k, in.v, in.options);
      // Weights keep 8 bits; dropout divides by 0.7; values are below 5.
      EXPECT_LE(error_of(in, clean), 5 * 0x1p-7 / (dropout ? 0.7 : 1)) << dropout << masked;
      if (!masked) continue;
      for (std::int64_t j = 3; j < c.keys; j += 7) {
        for (std::int64_t h = 0; h < c.key_heads; ++h) {
          in.v_storage.values<float>()[static_cast<std::size_t>((h * c.keys + j) * c.dv + j % c.dv)] =
              j % 2 == 0 ? NAN : -INFINITY;
        }
      }
      EXPECT_TRUE(same_bits(attention(in.q, in.k, in.v, in.options), clean)) << dropout;
    }
  }
}

TEST_P(Precisions, WhatAMaskedKeyHoldsNeverMatters) {
  constexpr std::int64_t kFew = 20, kSome = 30;
  for (const double poison : {kNan, kHuge, -kHuge}) {
    for (const std::int64_t place : {17, 18, 29}) {  // second and first of a pair, the last key
      const Tensor q = random_normal({1, 2, kFew, 6}, DType::bf16, 1);
      Tensor k = random_normal({1, 2, kSome, 6}, DType::bf16, 2),
             v = random_normal({1, 2, kSome, 5}, DType::bf16, 3);
      const Tensor clean_k = copy_of(k), clean_v = copy_of(v);
      for (Tensor* tensor : {&k, &v}) {
        Tensor wide = copy_of(*tensor, DType::f64);
        const auto size = wide.size(3);
        for (std::int64_t h = 0; h < 2; ++h) {
          for (std::int64_t x = 0; x < size; ++x)
            wide.values<double>()[static_cast<std::size_t>((h * kSome + place) * size + x)] = poison;
        }
        copy(wide, *tensor);
      }
      Tensor mask(DType::boolean, {1, kSome}), bias(DType::f32, {1, kSome});
      for (std::int64_t j = 0; j < kSome; ++j) {
        mask.values<bool>()[static_cast<std::size_t>(j)] = j != place;
        bias.values<float>()[static_cast<std::size_t>(j)] = j == place ? -INFINITY : 0.5F;
      }
      std::vector<AttentionOptions> ways(5);
      ways[0].mask = mask;
      ways[1].bias = bias;
      ways[2].key_lengths = {place};
      ways[3].causal = true;
      ways[3].query_offset = place - kFew;
      ways[4].window = {-1, 0};
      ways[4].query_offset = place - kFew;
      for (std::size_t way = 0; way < ways.size(); ++way) {
        for (const double softcap : {0, 2}) {
          ways[way].softcap = softcap;
          RowState state(q), clean_state(q);
          Tensor out(DType::f32, {1, 2, kFew, 5}), clean(DType::f32, {1, 2, kFew, 5});
          attention(q, k, v, ways[way], out, state);
          attention(q, clean_k, clean_v, ways[way], clean, clean_state);
          EXPECT_TRUE(same_bits(out, clean)) << poison << " at " << place << ", way " << way;
          EXPECT_TRUE(same_bits(state.max, clean_state.max) && same_bits(state.sum, clean_state.sum));
        }
      }
    }
  }
}

// Where some rows see such a key and others do not, each gets what it sees.
TEST_P(Precisions, AnInfiniteValueReachesTheRowsThatSeeIt) {
  AttentionCase c;
  c.queries = c.keys = 40;
  c.precision = Precision::bf16;
  c.causal = true;
  AttentionInputs in = make_inputs(c);
  const std::vector<double> clean = values_of(attention(in.q, in.k, in.v, in.options));
  in.v_storage.values<float>()[static_cast<std::size_t>(17 * c.dv + 3)] = INFINITY;
  const std::vector<double> out = values_of(attention(in.q, in.k, in.v, in.options));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const bool sees = i / 8 >= 17 && i % 8 == 3;
    ASSERT_EQ(out[i], sees ? kHuge : clean[i]) << i;
  }
}

TEST_P(Precisions, RowsWithoutKeysAreZero) {
  AttentionCase c = tiled_case();
  c.precision = Precision::bf16;
  AttentionInputs in = make_inputs(c);
  in.options.causal = true;
  in.options.query_offset = -20;  // rows 0 to 19 see nothing
  RowState state(in.q);
  Tensor out = in.output(DType::f32);
  attention(in.q, in.k, in.v, in.options, out, state);
  for (std::int64_t i = 0; i < 20; ++i) {
    for (const double value : values_of(out.view().select(2, i))) ASSERT_EQ(value, 0);
    for (const double value : values_of(state.sum.view().select(2, i))) ASSERT_EQ(value, 0);
    for (const double value : values_of(state.max.view().select(2, i))) ASSERT_EQ(value, -kHuge);
  }
}

TEST_P(Precisions, EnormousScoresStayFinite) {
  for (const double size : {1e4, 1e8, 1e19, 1e30, 1e38}) {
    Tensor q(DType::f32, {1, 1, 16, 2}), k(DType::f32, {1, 1, 64, 2});
    const Tensor v = copy_of(copy_of(random_normal({1, 1, 64, 3}, DType::f32, 3), DType::bf16), DType::f32);
    for (std::size_t i = 0; i < 16; ++i) q.values<float>()[2 * i] = 1;
    for (std::size_t j = 0; j < 64; ++j) {
      k.values<float>()[2 * j] = to_float(to_bfloat16(static_cast<float>(size * (2 * uniform_at(9, j) - 1))));
    }
    AttentionOptions options;
    options.scale = 1;
    options.precision = Precision::bf16;
    Tensor out(DType::f32, {1, 1, 16, 3}), expected(DType::f64, {1, 1, 16, 3});
    RowState state(q);
    attention(q, k, v, options, out, state);
    reference::attention(q, k, v, options, expected);
    EXPECT_LE(max_abs_difference(out, expected), 0x1p-7) << size;
    for (const double value : values_of(state.max)) EXPECT_TRUE(std::isfinite(value));
  }
}

// Weights on demand start from the numbers that were multiplied, whichever kernel a sequence went to.
TEST_P(Precisions, WeightsOfARowAddUpToOne) {
  for (const bool packed : {false, true}) {
    AttentionInputs in;
    in.q_storage = random_normal(packed ? Dims{46, 2, 24} : Dims{1, 2, 46, 24}, DType::f32, 1);
    in.k_storage = random_normal(packed ? Dims{330, 2, 24} : Dims{1, 2, 330, 24}, DType::f32, 2);
    if (packed) {
      in.options.cumulative_query_lengths = {0, 6, 46};  // the first is decoded, in f32
      in.options.cumulative_key_lengths = {0, 150, 330};
    }
    in.q = in.q_storage;
    in.k = in.v = in.k_storage;
    in.options.precision = Precision::bf16;
    in.options.scale = 0.5;  // scores of several units: a rounded query moves them by hundredths
    Tensor out = in.output(DType::f32);
    RowState state(in.q);
    attention(in.q, in.k, in.v, in.options, out, state);
    const WeightsSummary summary = summarize_weights(in.q, in.k, in.options, {.received = true}, state);
    const std::vector<double> received = values_of(summary.received);
    EXPECT_NEAR(std::accumulate(received.begin(), received.end(), 0.0), 46 * 2, 46 * 2 * 1e-5);
    const RowSelection rows{.rows = {0, 3, 5}};
    const std::vector<double> weights =
        values_of(attention_rows(in.q, in.k, in.options, Stage::weights, rows, state));
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    EXPECT_NEAR(sum, packed ? 12 : 6, 1e-4);
  }
}

// Of the rounded numbers, in float64: rows in any order, and what is summed up over all of them.
TEST_P(Precisions, WeightsOnDemandAreThoseOfTheRoundedNumbers) {
  for (const std::int64_t d : {31, 64}) {
    AttentionCase c = tiled_case();
    c.d = d;
    c.queries = 131;
    AttentionInputs in = make_inputs(c);
    in.options.precision = Precision::bf16;
    in.options.causal = true;
    in.options.window = {.left = 150, .right = Window::kUnlimited};
    in.options.query_offset = 170;
    const Tensor q = copy_of(in.q, DType::bf16), k = copy_of(in.k, DType::bf16);
    const Tensor exact_q = copy_of(q, DType::f64), exact_k = copy_of(k, DType::f64);
    AttentionOptions exact = in.options;
    exact.precision.reset();
    // Where there are no instructions for bf16, f32 tensors are not rounded.
    const ConstTensorView given_q = has_bf16() ? in.q : q.view(), given_k = has_bf16() ? in.k : k.view();
    RowState state(given_q);
    Tensor out = in.output(DType::f32);
    attention(given_q, given_k, copy_of(in.v, given_q.dtype()), in.options, out, state);

    RowSelection selection;
    selection.rows = {130, 0, 7, 64, 64, 3, 129, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50,
                      51,  1, 2, 4,  5,  6, 8,   9,  10, 11, 12, 13, 14, 15, 16, 17, 18};
    for (const Stage stage : {Stage::scores, Stage::biased, Stage::weights}) {
      const Tensor expected = attention_rows(exact_q, exact_k, exact, stage, selection);
      const double bound = stage == Stage::weights ? 2e-6 : 1e-5;
      EXPECT_LE(max_abs_difference(attention_rows(given_q, given_k, in.options, stage, selection), expected),
                bound);
      EXPECT_LE(
          max_abs_difference(attention_rows(given_q, given_k, in.options, stage, selection, state), expected),
          bound);
    }

    const WeightsRequest request{
        .top_k = 5, .received = true, .entropy = true, .map_rows = 9, .map_columns = 11};
    const WeightsSummary expected = summarize_weights(exact_q, exact_k, exact, request);
    const WeightsSummary found = summarize_weights(given_q, given_k, in.options, request, state);
    EXPECT_LE(max_abs_difference(found.top_weights, expected.top_weights), 2e-6);
    EXPECT_LE(max_abs_difference(found.received, expected.received), 2e-5);
    EXPECT_LE(max_abs_difference(found.entropy, expected.entropy), 2e-5);
    EXPECT_LE(max_abs_difference(found.map, expected.map), 2e-6);
    for (const int count : {1, 3}) {
      set_threads(count);
      const WeightsSummary again = summarize_weights(given_q, given_k, in.options, request, state);
      EXPECT_TRUE(same_bits(again.received, found.received));
      EXPECT_TRUE(same_bits(again.map, found.map));
      EXPECT_TRUE(same_bits(again.entropy, found.entropy));
    }
    set_threads(0);
  }
}

// The exponentials of the row state are made apart from the weights, and only where it is wanted.
TEST_P(Precisions, ARowStateDoesNotChangeTheOutput) {
  for (int option = 0; option < 5; ++option) {
    AttentionCase c = tiled_case();
    c.causal = option == 1;
    c.sinks = option == 2;
    c.softcap = c.alibi = option == 3;
    c.dropout = option == 4;
    const AttentionInputs in = make_inputs(c);
    AttentionOptions options = in.options;
    options.precision = Precision::bf16;
    Tensor with = in.output(DType::f32);
    RowState state(in.q);
    attention(in.q, in.k, in.v, options, with, state);
    EXPECT_TRUE(same_bits(in_f32(in, in.q, in.k, in.v, options), with)) << option;
  }
}

// Backward computes in f32, from what forward multiplied.
TEST_P(Precisions, GradientsAreThoseOfTheRoundedTensors) {
  AttentionCase c = tiled_case();
  AttentionInputs in = make_inputs(c);
  in.options.precision = Precision::bf16;
  const Tensor q = copy_of(in.q, DType::bf16), k = copy_of(in.k, DType::bf16), v = copy_of(in.v, DType::bf16);
  const Tensor d_out = random_normal(in.output_shape(), DType::f32, 7);
  const auto gradients = [&](ConstTensorView query, ConstTensorView key, ConstTensorView value) {
    Tensor out = in.output(DType::f32);
    RowState state(query);
    attention(query, key, value, in.options, out, state);
    std::vector<Tensor> result;
    for (const ConstTensorView& view : {query, key, value}) result.emplace_back(DType::f32, view.shape());
    attention_backward(query, key, value, in.options, out, state, d_out,
                       {.q = result[0], .k = result[1], .v = result[2]});
    return result;
  };
  const std::vector<Tensor> wide = gradients(in.q, in.k, in.v), narrow = gradients(q, k, v);
  std::vector<Tensor> expected;
  for (const Tensor* tensor : {&q, &k, &v}) expected.emplace_back(DType::f64, tensor->shape());
  reference::attention_backward(q, k, v, in.options, d_out,
                                {.q = expected[0], .k = expected[1], .v = expected[2]});
  for (std::size_t i = 0; i < 3; ++i) {
    if (has_bf16()) {
      EXPECT_TRUE(same_bits(wide[i], narrow[i])) << i;
    }
    // delta is made of an output whose weights kept 8 bits.
    EXPECT_LE(max_abs_difference(narrow[i], expected[i]), 0.02) << i;
  }
}

}  // namespace
}  // namespace attend
