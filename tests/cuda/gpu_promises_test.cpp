// What a GPU promises as the host does: neighbours, batch and strides change no bit of a row; what a key that
// takes no part holds changes nothing; rows without keys are 0; dropout throws the same coins.
#include <attend/attention.h>
#include <attend/reference.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "cuda/on_gpu.h"
#include "support/compare.h"
#include "support/random.h"

namespace attend {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
const std::vector<DType> kTypes = {DType::f32, DType::bf16, DType::f16};

// The output in f32, on the host.
Tensor made(ConstTensorView q, ConstTensorView k, ConstTensorView v, const AttentionOptions& options) {
  Tensor out(DType::f32, q.shape(), kGpu);
  attention(q, k, v, options, out);
  return to_host(out);
}

TEST(GpuPromises, ARowDoesNotDependOnItsBatchOrNeighbours) {
  ATTEND_NEEDS_GPU();
  for (const DType dtype : kTypes) {
    for (const std::int64_t d : {64, 128}) {
      const Tensor q = to_gpu(random_normal({3, 4, 300, d}, dtype, 1)),
                   k = to_gpu(random_normal({3, 2, 421, d}, dtype, 2)),
                   v = to_gpu(random_normal({3, 2, 421, d}, dtype, 3));
      for (const bool causal : {false, true}) {
        AttentionOptions options;
        options.causal = causal;
        options.window = {causal ? 200 : -1, -1};
        options.query_offset = 121;
        const Tensor all = made(q, k, v, options);
        for (int again = 0; again < 3; ++again) EXPECT_TRUE(same_bits(made(q, k, v, options), all));
        // One sequence, one group of heads, fewer queries.
        const auto part = [&](const Tensor& t, std::int64_t heads_from, std::int64_t heads_to) {
          return t.view().slice(0, 1, 2).slice(1, heads_from, heads_to);
        };
        const Tensor alone = made(part(q, 2, 4), part(k, 1, 2), part(v, 1, 2), options);
        EXPECT_TRUE(same_bits(alone, all.view().slice(0, 1, 2).slice(1, 2, 4)));
        const Tensor fewer = made(q.view().slice(2, 0, 150), k, v, options);
        EXPECT_TRUE(same_bits(fewer, all.view().slice(2, 0, 150)));
        // Another layout of the same numbers.
        const Tensor turned = copy_of(k.view().transposed(1, 2));
        EXPECT_TRUE(same_bits(made(q, turned.view().transposed(1, 2), v, options), all));
      }
    }
  }
}

TEST(GpuPromises, WhatAKeyHoldsThatTakesNoPartChangesNothing) {
  ATTEND_NEEDS_GPU();
  for (const DType dtype : kTypes) {
    const std::int64_t length = 300;
    for (const int hidden_by : {0, 1, 2, 3}) {  // causal, key lengths, a mask, a bias
      const auto inputs = [&](bool strange) {
        std::vector<Tensor> result;
        for (const std::uint64_t seed : {2, 3}) {
          Tensor x = random_normal({1, 2, length, 64}, DType::f32, seed);
          for (std::int64_t h = 0; strange && h < 2; ++h) {
            for (std::int64_t c = 0; c < 64; ++c) {
              const float value = c % 2 == 0 ? kNaN : std::numeric_limits<float>::infinity();
              x.values<float>()[static_cast<std::size_t>((h * length + 250) * 64 + c)] = value;
            }
          }
          result.push_back(to_gpu(copy_of(x, dtype)));
        }
        return result;
      };
      const Tensor q = to_gpu(random_normal({1, 2, length, 64}, dtype, 1));
      AttentionOptions options;
      Tensor mask(DType::boolean, {1, length}), bias(DType::f32, {1, length});
      fill(mask, 1);
      fill(mask.view().slice(1, 250, 251), 0);
      fill(bias.view().slice(1, 250, 251), -std::numeric_limits<double>::infinity());
      const Tensor mask_there = to_gpu(mask), bias_there = to_gpu(bias);
      if (hidden_by == 0) options.causal = true;
      if (hidden_by == 1) options.key_lengths = {250};
      if (hidden_by == 2) options.mask = mask_there;
      if (hidden_by == 3) options.bias = bias_there;
      const std::vector<Tensor> plain = inputs(false), strange = inputs(true);
      const Tensor expected = made(q, plain[0], plain[1], options);
      const Tensor found = made(q, strange[0], strange[1], options);
      const std::int64_t rows = hidden_by == 0 ? 250 : length;
      EXPECT_TRUE(same_bits(found.view().slice(2, 0, rows), expected.view().slice(2, 0, rows)))
          << name_of(dtype) << " hidden by " << hidden_by;
      const bool seen_later = std::isnan(values_of(found.view().slice(2, 260, 261)).front());
      EXPECT_EQ(seen_later, hidden_by == 0);
      // A strange value with an ordinary key: its column, and no other row or column.
      const Tensor half = made(q, plain[0], strange[1], options);
      EXPECT_TRUE(same_bits(half.view().slice(2, 0, rows), expected.view().slice(2, 0, rows)));
      if (hidden_by == 0) {
        const std::vector<double> row = values_of(half.view().select(0, 0).select(0, 0).slice(0, 299, 300));
        EXPECT_TRUE(std::isnan(row[0]));
        EXPECT_EQ(row[1], std::numeric_limits<double>::infinity());
      }
    }
  }
}

// Keys are computed from the last tile to the first, and here every third row's scores grow on the way, every
// third's fall: what weights are relative to changes often, in some rows of a warp and not in others. By a
// little, by more than a weight may grow, and by more than an exponent holds.
TEST(GpuPromises, ScoresThatGrowFromTileToTileAreExactAndRowsStayTheirOwn) {
  ATTEND_NEEDS_GPU();
  constexpr std::int64_t kRows = 130, kKeys = 700;
  for (const DType dtype : {DType::bf16, DType::f16}) {
    for (const std::int64_t d : {64, 128}) {
      for (const float growth : {0.02f, 0.3f, 8.f}) {
        Tensor q = random_normal({1, 1, kRows, d}, DType::f32, 1),
               k = random_normal({1, 1, kKeys, d}, DType::f32, 2);
        const Tensor v = random_normal({1, 1, kKeys, d}, dtype, 3);
        for (std::int64_t i = 0; i < kRows; ++i)
          q.values<float>()[static_cast<std::size_t>(i * d)] = static_cast<float>(i % 3 - 1) * 4;
        for (std::int64_t j = 0; j < kKeys; ++j)
          k.values<float>()[static_cast<std::size_t>(j * d)] = growth * static_cast<float>(kKeys - j);
        Tensor turned(DType::f32, q.shape());
        for (std::int64_t i = 0; i < kRows; ++i)
          copy(q.view().slice(2, i, i + 1), turned.view().slice(2, kRows - 1 - i, kRows - i));
        const Tensor here_q = copy_of(q, dtype), here_k = copy_of(k, dtype);
        Tensor expected(DType::f64, q.shape());
        reference::attention(here_q, here_k, v, {}, expected);
        const Tensor k_there = to_gpu(here_k), v_there = to_gpu(v);
        const Tensor found = made(to_gpu(here_q), k_there, v_there, {});
        EXPECT_LE(max_abs_difference(found, expected), 0.02) << name_of(dtype) << " " << d << " " << growth;
        const Tensor found_turned = made(to_gpu(copy_of(turned, dtype)), k_there, v_there, {});
        for (std::int64_t i = 0; i < kRows; ++i) {
          ASSERT_TRUE(same_bits(found_turned.view().slice(2, kRows - 1 - i, kRows - i),
                                found.view().slice(2, i, i + 1)))
              << "row " << i;
        }
      }
    }
  }
}

// Wherever it is in a tile: each head has its NaN at another key.
TEST(GpuPromises, ANanKeyThatIsSeenIsNeverLost) {
  ATTEND_NEEDS_GPU();
  constexpr std::int64_t kKeys = 150;
  for (const DType dtype : kTypes) {
    for (const std::int64_t d : {64, 128}) {
      const Tensor q = to_gpu(random_normal({1, kKeys, 12, d}, dtype, 1)),
                   v = to_gpu(random_normal({1, kKeys, kKeys, d}, dtype, 2));
      Tensor k = random_normal({1, kKeys, kKeys, d}, DType::f32, 3);
      for (std::int64_t h = 0; h < kKeys; ++h) fill(k.view().slice(1, h, h + 1).slice(2, h, h + 1), kNaN);
      const Tensor k_there = to_gpu(copy_of(k, dtype));
      Tensor mask(DType::boolean, {1, kKeys});
      fill(mask, 1);
      const Tensor mask_there = to_gpu(mask);
      for (const bool masked : {false, true}) {
        AttentionOptions options;
        if (masked) options.mask = mask_there;
        for (const double value : values_of(made(q, k_there, v, options)))
          ASSERT_TRUE(std::isnan(value)) << name_of(dtype) << " " << d << (masked ? " masked" : "");
      }
    }
  }
}

TEST(GpuPromises, RowsWithoutKeysAreZeroAndHugeScoresFine) {
  ATTEND_NEEDS_GPU();
  for (const DType dtype : kTypes) {
    const Tensor q = to_gpu(random_normal({1, 1, 200, 64}, dtype, 1)),
                 k = to_gpu(random_normal({1, 1, 200, 64}, dtype, 2));
    AttentionOptions options;
    options.causal = true;
    options.query_offset = -150;
    RowState state(q);
    Tensor out(DType::f32, q.shape(), kGpu);
    fill(out, 7);
    attention(q, k, k, options, out, state);
    const Tensor here = to_host(out), max = to_host(state.max), sum = to_host(state.sum);
    for (std::int64_t i = 0; i < 150; ++i) {
      EXPECT_EQ(max.values<float>()[static_cast<std::size_t>(i)], -std::numeric_limits<float>::infinity());
      EXPECT_EQ(sum.values<float>()[static_cast<std::size_t>(i)], 0);
    }
    EXPECT_EQ(max_abs_difference(here.view().slice(2, 0, 150), Tensor(DType::f32, {1, 1, 150, 64})), 0);

    // Scores of tens of thousands: the largest takes all.
    const Tensor big = random_normal({1, 2, 130, 64}, dtype, 5, 40);
    const Tensor there = to_gpu(big);
    Tensor expected(DType::f64, big.shape());
    reference::attention(big, big, big, {.scale = 1.0}, expected);
    const Tensor found = made(there, there, there, {.scale = 1.0});
    EXPECT_LE(max_abs_difference(found, expected), dtype == DType::f32 ? 0.05 : 1.0) << name_of(dtype);
    // A scale that turns the order around, and none at all.
    for (const double scale : {-0.1, 0.0}) {
      const Tensor small = random_normal({1, 2, 130, 64}, dtype, 6);
      Tensor judged(DType::f64, small.shape());
      reference::attention(small, small, small, {.scale = scale}, judged);
      const Tensor away = to_gpu(small);
      EXPECT_LE(max_abs_difference(made(away, away, away, {.scale = scale}), judged),
                dtype == DType::f32 ? 1e-5 : 0.02);
    }
  }
}

TEST(GpuPromises, DropoutThrowsTheCoinsOfTheHost) {
  ATTEND_NEEDS_GPU();
  for (const DType dtype : kTypes) {
    AttentionCase c;
    c.batch = 2;
    c.key_heads = 2;
    c.queries = 150;
    c.keys = 170;
    c.d = c.dv = 64;
    c.dtype = dtype;
    c.dropout = true;
    const AttentionInputs in = make_inputs(c);
    const GpuInputs there(in);
    Tensor expected = in.output(DType::f64), out = there.output(DType::f32);
    reference::attention(in.q, in.k, in.v, in.options, expected);
    attention(there.q, there.k, there.v, there.options, out);
    EXPECT_LE(max_abs_difference(to_host(out), expected), dtype == DType::f32 ? 1e-5 : 0.01)
        << name_of(dtype);
  }
}

}  // namespace
}  // namespace attend
