// Few queries on many keys: a grid against float64, and bits that do not depend on the batch.
#include <attend/attention.h>
#include <attend/cache.h>
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "attention/grid.h"
#include "cuda/on_gpu.h"
#include "support/compare.h"
#include "support/random.h"

namespace attend {
namespace {

// Set where a run leaves the decoding kernel out on purpose.
bool kernel_is_asked() { return std::getenv("ATTEND_CUDA_KERNEL") != nullptr; }

std::string decode_exact_on_gpu(const AttentionCase& c) {
  const AttentionInputs in = make_inputs(c);
  const GpuInputs there(in);
  Tensor out = there.output(DType::f32);
  fill(out, 12345);
  RowState state(there.q);
  attention(there.q, there.k, there.v, there.options, out, state);
  Tensor lse(DType::f32, state.max.shape(), kGpu);
  log_sum_exp(state, lse);
  const std::string kernel(attention_kernel(there.q, there.k, there.options).name);
  const WeightRounding rounding = kernel == "portable"     ? WeightRounding{}
                                  : c.dtype == DType::bf16 ? WeightRounding{0x1p-8, 0}
                                                           : WeightRounding{0x1p-11, 0x1p-24};
  expect_exact_output(c, in, to_host(out), to_host(lse), 20, rounding);
  return kernel;
}

TEST(GpuDecode, EveryHeadSizeGroupLengthAndOptionIsExact) {
  ATTEND_NEEDS_GPU();
  std::map<std::string, int> kernels;
  std::uint64_t seed = 1;
  for (const std::int64_t d : {8, 40, 64, 96, 128, 160, 192, 256}) {
    for (const std::int64_t group : {1, 3, 4, 8, 20}) {
      for (const std::int64_t keys : {1, 15, 16, 64, 65, 300, 1025, 4500}) {
        AttentionCase c;
        c.batch = 3;
        c.key_heads = 2;
        c.group = group;
        c.queries = seed % 3 == 0 ? 1 : static_cast<std::int64_t>(seed % 8) + 1;
        c.keys = keys;
        c.d = d;
        c.dv = seed % 5 == 0 ? d / 2 : d;
        c.dtype = seed % 2 == 0 ? DType::bf16 : DType::f16;
        c.causal = seed % 3 == 1;
        c.offset = seed % 3 == 1 ? CaseOffset::bottom_right : CaseOffset::top_left;
        c.window_left = seed % 7 == 0 ? 100 : -1;
        c.key_lengths = seed % 4 == 0;
        c.sinks = seed % 6 == 0;
        c.softcap = seed % 11 == 0;
        c.alibi = seed % 13 == 0;
        c.mask = seed % 17 == 0 ? CaseMask::full : CaseMask::none;
        c.bias = seed % 19 == 0 ? CaseBias::with_minus_infinity : CaseBias::none;
        c.own_scale = seed % 23 == 0;
        c.packed = seed % 9 == 0;
        c.memory = seed % 10 == 0   ? CaseMemory::heads_inside
                   : seed % 15 == 0 ? CaseMemory::backwards
                                    : CaseMemory::row_major;
        c.seed = 5000 + seed++;
        ++kernels[decode_exact_on_gpu(c)];
        if (HasFailure()) std::cout << describe(c) << "\n";
        if (HasFatalFailure()) return;
      }
    }
  }
  for (const auto& [name, count] : kernels) std::cout << count << " cases by " << name << "\n";
  EXPECT_EQ(kernels.count("portable") != 0, kernel_is_asked());
}

// What no tensor core takes is cut into pieces as well: f32, and dropout, whose coins are the host's.
TEST(GpuDecode, F32IsExactWithEveryOption) {
  ATTEND_NEEDS_GPU();
  std::uint64_t seed = 1;
  for (const std::int64_t d : {3, 40, 128, 256}) {
    for (const std::int64_t group : {1, 4, 20}) {
      for (const std::int64_t keys : {1, 33, 600, 4500}) {
        AttentionCase c;
        c.batch = 2;
        c.key_heads = 2;
        c.group = group;
        c.queries = static_cast<std::int64_t>(seed % 8) + 1;
        c.keys = keys;
        c.d = d;
        c.dv = seed % 5 == 0 ? d / 2 : d;
        c.dtype = DType::f32;
        c.causal = seed % 3 == 1;
        c.offset = seed % 3 == 1 ? CaseOffset::bottom_right : CaseOffset::top_left;
        c.window_left = seed % 7 == 0 ? 100 : -1;
        c.key_lengths = seed % 4 == 0;
        c.sinks = seed % 6 == 0;
        c.softcap = seed % 5 == 2;
        c.alibi = seed % 8 == 3;
        c.mask = seed % 11 == 0 ? CaseMask::full : CaseMask::none;
        c.bias = seed % 10 == 7 ? CaseBias::with_minus_infinity : CaseBias::none;
        c.packed = seed % 9 == 0;
        c.memory = seed % 4 == 1    ? CaseMemory::heads_inside
                   : seed % 13 == 0 ? CaseMemory::backwards
                                    : CaseMemory::row_major;
        c.seed = 9000 + seed++;
        EXPECT_EQ(decode_exact_on_gpu(c), "portable");
        if (HasFailure()) std::cout << describe(c) << "\n";
        if (HasFatalFailure()) return;
      }
    }
  }
  const Tensor q = random_normal({2, 8, 3, 64}, DType::f32, 1),
               k = random_normal({2, 2, 3000, 64}, DType::f32, 2),
               v = random_normal({2, 2, 3000, 64}, DType::f32, 3);
  const AttentionOptions options{.dropout = 0.3, .dropout_seed = 5};
  const Tensor found = to_host(attention(to_gpu(q), to_gpu(k), to_gpu(v), options));
  EXPECT_LE(max_abs_difference(found, attention(q, k, v, options)), 2e-6);
}

// Packed sequences of few and of many queries: each by its own kernel, and as it is alone.
TEST(GpuDecode, FewAndManyQueriesInOneCall) {
  ATTEND_NEEDS_GPU();
  for (const std::int64_t d : {64, 160}) {
    for (const bool general : {false, true}) {
      const std::vector<std::int64_t> queries{0, 1, 9, 10, 210, 218}, keys{0, 500, 509, 1200, 1400, 7000};
      const Tensor q = to_gpu(random_normal({218, 4, d}, DType::bf16, 1)),
                   k = to_gpu(random_normal({7000, 2, d}, DType::bf16, 2)),
                   v = to_gpu(random_normal({7000, 2, d}, DType::bf16, 3));
      AttentionOptions options;
      options.cumulative_query_lengths = queries;
      options.cumulative_key_lengths = keys;
      if (general) options.softcap = 5;
      Tensor all(DType::f32, q.shape(), kGpu);
      fill(all, 7);
      attention(q, k, v, options, all);
      for (std::size_t s = 0; s + 1 < queries.size(); ++s) {
        const std::int64_t rows = queries[s + 1] - queries[s];
        const ConstTensorView some = q.view().slice(0, queries[s], queries[s + 1]);
        options.cumulative_query_lengths = {0, rows};
        options.cumulative_key_lengths = {0, keys[s + 1] - keys[s]};
        Tensor alone(DType::f32, some.shape(), kGpu);
        attention(some, k.view().slice(0, keys[s], keys[s + 1]), v.view().slice(0, keys[s], keys[s + 1]),
                  options, alone);
        EXPECT_TRUE(same_bits(to_host(alone), to_host(all.view().slice(0, queries[s], queries[s + 1]))))
            << s << " of " << d;
      }
    }
  }
}

TEST(GpuDecode, ARowDoesNotDependOnItsBatchOrNeighbours) {
  ATTEND_NEEDS_GPU();
  for (const DType dtype : {DType::bf16, DType::f16, DType::f32}) {
    for (const std::int64_t d : {64, 128, 256}) {
      const std::vector<std::int64_t> lengths{5000, 1, 700, 2300, 4096};
      const auto batch = static_cast<std::int64_t>(lengths.size());
      const Tensor q = to_gpu(random_normal({batch, 8, 3, d}, dtype, 1)),
                   k = to_gpu(random_normal({batch, 2, 5000, d}, dtype, 2)),
                   v = to_gpu(random_normal({batch, 2, 5000, d}, dtype, 3));
      for (const bool windowed : {false, true}) {
        AttentionOptions options;
        options.causal = true;
        options.window = {windowed ? 600 : -1, -1};
        options.key_lengths = lengths;
        options.query_offset = QueryOffset::bottom_right();
        Tensor all(DType::f32, q.shape(), kGpu);
        attention(q, k, v, options, all);
        Tensor again(DType::f32, q.shape(), kGpu);
        attention(q, k, v, options, again);
        EXPECT_TRUE(same_bits(to_host(again), to_host(all)));
        for (std::int64_t s = 0; s < batch; ++s) {
          // One sequence, in a tensor that is no longer than it, in another layout; then one query of it
          // alone.
          const std::int64_t length = lengths[static_cast<std::size_t>(s)];
          AttentionOptions own = options;
          own.key_lengths = {};
          own.query_offset = length - 3;
          const ConstTensorView k_of = k.view().slice(0, s, s + 1).slice(2, 0, length),
                                v_of = v.view().slice(0, s, s + 1).slice(2, 0, length);
          const Tensor turned = copy_of(k_of.transposed(1, 2));
          const ConstTensorView q_of = q.view().slice(0, s, s + 1);
          Tensor alone(DType::f32, q_of.shape(), kGpu);
          attention(q_of, turned.view().transposed(1, 2), v_of, own, alone);
          EXPECT_TRUE(same_bits(to_host(alone), to_host(all.view().slice(0, s, s + 1))))
              << s << " of d " << d;
          own.query_offset = length - 2;
          const ConstTensorView second = q_of.slice(2, 1, 2);
          Tensor one(DType::f32, second.shape(), kGpu);
          attention(second, k_of, v_of, own, one);
          EXPECT_TRUE(same_bits(to_host(one), to_host(all.view().slice(0, s, s + 1).slice(2, 1, 2))))
              << s << " of d " << d;
        }
      }
    }
  }
}

// A cache with room to spare: what lies beyond its sequences is whatever was there.
TEST(GpuDecode, WhatACacheHoldsBeyondItsLengthsChangesNothing) {
  ATTEND_NEEDS_GPU();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const auto& [dtype, d] : std::vector<std::pair<DType, std::int64_t>>{
           {DType::bf16, 64}, {DType::bf16, 128}, {DType::f32, 128}}) {
    for (const int hidden_by : {0, 1, 2}) {  // key lengths, a mask, a bias
      Tensor k = random_normal({2, 2, 1500, d}, DType::f32, 2),
             v = random_normal({2, 2, 1500, d}, DType::f32, 3);
      const Tensor k_plain = to_gpu(copy_of(k, dtype)), v_plain = to_gpu(copy_of(v, dtype));
      fill(k.view().slice(2, 1235, 1500), nan);
      fill(v.view().slice(2, 1235, 1400), nan);
      fill(v.view().slice(2, 1400, 1500), std::numeric_limits<double>::infinity());
      const Tensor k_strange = to_gpu(copy_of(k, dtype)), v_strange = to_gpu(copy_of(v, dtype));
      const Tensor q = to_gpu(random_normal({2, 8, 2, d}, dtype, 1));
      Tensor mask(DType::boolean, {1, 1500}), bias(DType::f32, {1, 1500});
      fill(mask, 1);
      fill(mask.view().slice(1, 1235, 1500), 0);
      fill(bias.view().slice(1, 1235, 1500), -std::numeric_limits<double>::infinity());
      const Tensor mask_there = to_gpu(mask), bias_there = to_gpu(bias);
      AttentionOptions options;
      if (hidden_by == 0) options.key_lengths = {1235, 1235};
      if (hidden_by == 1) options.mask = mask_there;
      if (hidden_by == 2) options.bias = bias_there;
      const Tensor expected = to_host(attention(q, k_plain, v_plain, options));
      EXPECT_TRUE(same_bits(to_host(attention(q, k_strange, v_strange, options)), expected)) << hidden_by;
      // Where it is seen, by one of two queries only.
      AttentionOptions seen;
      seen.causal = true;
      seen.query_offset = 1399;
      Tensor v_late = copy_of(v_plain);
      copy(v_strange.view().slice(2, 1400, 1500), v_late.view().slice(2, 1400, 1500));
      const Tensor with = to_host(copy_of(attention(q, k_plain, v_late, seen), DType::f32));
      for (std::size_t row = 0; row < 32; ++row) {
        for (std::size_t c = 0; c < static_cast<std::size_t>(d); ++c) {
          const float value = with.values<float>()[row * static_cast<std::size_t>(d) + c];
          ASSERT_EQ(std::isinf(value), row % 2 == 1) << row;
          ASSERT_FALSE(std::isnan(value));
        }
      }
    }
  }
}

TEST(GpuDecode, CachesAndRowsWithoutKeys) {
  ATTEND_NEEDS_GPU();
  KeyValueCache cache(DType::bf16, 2, 2, 64, 64, 100, kGpu), here(DType::bf16, 2, 2, 64, 64, 100);
  for (int step = 0; step < 5; ++step) {
    const Tensor k = random_normal({2, 2, 30, 64}, DType::bf16, static_cast<std::uint64_t>(10 + step)),
                 v = random_normal({2, 2, 30, 64}, DType::bf16, static_cast<std::uint64_t>(20 + step)),
                 q = random_normal({2, 8, 1, 64}, DType::bf16, static_cast<std::uint64_t>(30 + step));
    const std::vector<std::int64_t> counts{30, step + 1};
    cache.append(to_gpu(k), to_gpu(v), counts);
    here.append(k, v, counts);
    const Tensor found = to_host(cache.attention(to_gpu(q), {.causal = true}));
    EXPECT_LE(max_abs_difference(found, here.attention(q, {.causal = true})), 0.02);
  }
  // The first query is before all keys.
  const Tensor q = to_gpu(random_normal({1, 4, 2, 64}, DType::bf16, 1)),
               k = to_gpu(random_normal({1, 2, 90, 64}, DType::bf16, 2));
  AttentionOptions options;
  options.causal = true;
  options.query_offset = -1;
  options.sinks = {0.5, 1, 2, 3};
  RowState state(q);
  Tensor out(DType::f32, q.shape(), kGpu);
  fill(out, 7);
  attention(q, k, k, options, out, state);
  const Tensor max = to_host(state.max), sum = to_host(state.sum), found = to_host(out);
  for (std::size_t h = 0; h < 4; ++h) {
    EXPECT_EQ(max.values<float>()[2 * h], static_cast<float>(options.sinks[h]));
    EXPECT_EQ(sum.values<float>()[2 * h], 1);
    EXPECT_EQ(found.values<float>()[2 * h * 64 + 5], 0);
    EXPECT_NE(found.values<float>()[(2 * h + 1) * 64 + 5], 0);
  }
}

}  // namespace
}  // namespace attend
