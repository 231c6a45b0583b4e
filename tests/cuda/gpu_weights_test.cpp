// Weights on demand on a GPU: the cases of the CPU's tests, rows of every stage and every summary against
// float64, with the row state given and computed; and the promises of the host: batch and neighbours change
// no bit, what takes no part changes nothing, and scores of any size are right.
#include <attend/weights.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <numeric>
#include <string>
#include <vector>

#include "attention/grid.h"
#include "attention/weights_cases.h"
#include "cuda/on_gpu.h"
#include "support/compare.h"
#include "support/covering_array.h"
#include "support/random.h"

namespace attend {
namespace {

RowState state_on_gpu(const GpuInputs& there) {
  RowState state(there.q);
  Tensor out = there.output(DType::f32);
  attention(there.q, there.k, there.v, there.options, out, state);
  return state;
}

Tensor host_copy(const Tensor& tensor) {
  return tensor.count() == 0 ? Tensor(tensor.dtype(), tensor.shape()) : to_host(tensor);
}

WeightsSummary to_host(const WeightsSummary& there) {
  WeightsSummary here;
  here.top_keys = host_copy(there.top_keys);
  here.top_weights = host_copy(there.top_weights);
  here.received = host_copy(there.received);
  here.entropy = host_copy(there.entropy);
  here.map = host_copy(there.map);
  return here;
}

WeightsSummary summary_on_gpu(const GpuInputs& there, const WeightsRequest& request, bool state_given) {
  if (!state_given) return to_host(summarize_weights(there.q, there.k, there.options, request));
  return to_host(summarize_weights(there.q, there.k, there.options, request, state_on_gpu(there)));
}

TEST(GpuWeights, EveryPairOfShapesOptionsAndRequestsIsExact) {
  ATTEND_NEEDS_GPU();
  int cases = 0;
  for (const WeightsCase& c : weights_cases()) {
    SCOPED_TRACE(describe(c));
    const AttentionInputs in = make_inputs(c.attention);
    const GpuInputs there(in);
    const WeightsSummary expected = reference::summarize_weights(in.q, in.k, in.options, c.request);
    expect_summary(in, summary_on_gpu(there, c.request, c.state_given), expected, 1e-5);
    if (HasFatalFailure()) return;
    ++cases;
  }
  std::cout << cases << " cases\n";
}

TEST(GpuWeights, EveryStageOfChosenRowsIsExact) {
  ATTEND_NEEDS_GPU();
  for (const WeightsCase& c : weights_cases()) {
    if (c.attention.queries == 0) continue;
    SCOPED_TRACE(describe(c));
    const AttentionInputs in = make_inputs(c.attention);
    const GpuInputs there(in);
    std::vector<std::int64_t> rows;  // out of order, one of them twice
    for (std::int64_t i = c.attention.queries - 1; i >= 0; i -= 1 + i / 7) rows.push_back(i);
    rows.push_back(rows.front());
    RowSelection selection{.rows = rows};
    selection.sequences = {c.attention.packed ? 0
                                              : c.attention.batch - 1};  // the first packed one is longest
    if (c.attention.seed % 300 == 0) selection.heads = {c.attention.query_heads() - 1, 0};
    for (const Stage stage : {Stage::scores, Stage::capped, Stage::biased, Stage::weights}) {
      const Tensor expected = reference::attention_rows(in.q, in.k, in.options, stage, selection);
      const RowState state = c.state_given ? state_on_gpu(there) : RowState();
      const Tensor got = c.state_given
                             ? attention_rows(there.q, there.k, there.options, stage, selection, state)
                             : attention_rows(there.q, there.k, there.options, stage, selection);
      expect_close(std::string(name_of(stage)).c_str(), host_copy(got), expected, 1e-5);
      if (HasFatalFailure()) return;
    }
  }
}

// The grid of the forward pass, whose head sizes and lengths go further. Long ones are left to it: the
// float64 reference of their whole matrix takes too long.
TEST(GpuWeights, TheGridOfTheForwardPass) {
  ATTEND_NEEDS_GPU();
  int cases = 0;
  std::uint64_t seed = 1;
  for (const auto& row : covering_array(grid_knob_sizes())) {
    AttentionCase c = grid_case(row);
    c.precision.reset();  // a GPU has one for each type, and refuses others
    c.seed = 100 * seed++;
    if (c.queries * c.keys * c.query_heads() * c.batch * c.d > 30'000'000) continue;
    SCOPED_TRACE(describe(c));
    const AttentionInputs in = make_inputs(c);
    const GpuInputs there(in);
    const WeightsRequest request{.top_k = 1 + static_cast<std::int64_t>(seed % 10),
                                 .received = true,
                                 .entropy = true,
                                 .map_rows = 5,
                                 .map_columns = 17};
    // ALiBi makes scores of hundreds far from the diagonal, which f32 rounds accordingly.
    const double bound = 1e-5 * (c.alibi ? 1 + static_cast<double>(std::max(c.queries, c.keys)) / 40 : 1);
    const bool given = seed % 2 == 0;
    expect_summary(in, summary_on_gpu(there, request, given),
                   reference::summarize_weights(in.q, in.k, in.options, request), bound);
    if (HasFatalFailure()) return;
    const std::vector<std::int64_t> first_and_last = {0, c.queries - 1};
    if (c.queries > 0 && !c.packed) {
      const RowSelection selection{.rows = first_and_last};
      for (const Stage stage : {Stage::scores, Stage::capped, Stage::biased, Stage::weights}) {
        const Tensor got = host_copy(attention_rows(there.q, there.k, there.options, stage, selection));
        expect_close(std::string(name_of(stage)).c_str(), got,
                     reference::attention_rows(in.q, in.k, in.options, stage, selection), bound);
        if (HasFatalFailure()) return;
      }
    }
    ++cases;
  }
  std::cout << cases << " cases\n";
}

// 16-bit cases at the sizes of tiles and beside them, where a fast path has its seams.
TEST(GpuWeights, TheSeamsOfTiles) {
  ATTEND_NEEDS_GPU();
  std::uint64_t seed = 3;
  for (const std::int64_t d : {8, 64, 72, 128}) {
    for (const std::int64_t length : {1, 63, 65, 127, 128, 129, 255, 257, 384, 700, 1100}) {
      for (const DType dtype : {DType::bf16, DType::f16}) {
        AttentionCase c;
        c.batch = 2;
        c.key_heads = 2;
        c.group = 2;
        c.queries = length;
        c.keys = seed % 3 == 0 ? length : (length * 5) % 611 + 1;
        c.d = d;
        c.dv = 8;
        c.dtype = dtype;
        c.causal = seed % 2 == 0;
        c.offset = seed % 5 == 0 ? CaseOffset::bottom_right : CaseOffset::top_left;
        c.window_left = seed % 7 == 0 ? 70 : -1;
        c.window_right = seed % 17 == 0 ? 150 : -1;
        c.key_lengths = seed % 4 == 0;
        c.sinks = seed % 11 == 0;
        c.packed = seed % 13 == 0;
        c.seed = 1000 + seed++;
        const WeightsRequest request{.top_k = 1 + static_cast<std::int64_t>(seed % 8),
                                     .received = true,
                                     .entropy = true,
                                     .map_rows = 9,
                                     .map_columns = 11};
        SCOPED_TRACE(describe(c));
        const AttentionInputs in = make_inputs(c);
        const GpuInputs there(in);
        const WeightsSummary expected = reference::summarize_weights(in.q, in.k, in.options, request);
        expect_summary(in, summary_on_gpu(there, request, seed % 6 != 0), expected, 1e-5);
        if (HasFatalFailure()) return;
      }
    }
  }
}

struct Part {
  std::string what;
  ConstTensorView whole, alone;
};

TEST(GpuWeights, BatchNeighboursAndOtherQuestionsChangeNoBit) {
  ATTEND_NEEDS_GPU();
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const bool causal : {false, true}) {
      for (const bool given : {false, true}) {
        const std::int64_t d = causal ? 64 : 128;
        const Tensor q = to_gpu(random_normal({3, 4, 401, d}, dtype, 1)),
                     k = to_gpu(random_normal({3, 2, 330, d}, dtype, 2));
        AttentionOptions options;
        options.causal = causal;
        options.window = {causal ? 200 : -1, -1};
        const WeightsRequest all{
            .top_k = 8, .received = true, .entropy = true, .map_rows = 37, .map_columns = 13};
        const auto summary = [&](ConstTensorView query, ConstTensorView key, const WeightsRequest& request) {
          if (!given) return to_host(summarize_weights(query, key, options, request));
          RowState state(query);
          Tensor out(DType::f32, query.shape(), kGpu);
          attention(query, key, key, options, out, state);
          return to_host(summarize_weights(query, key, options, request, state));
        };
        const WeightsSummary whole = summary(q, k, all);
        for (int again = 0; again < 3; ++again) EXPECT_TRUE(same_bits(summary(q, k, all), whole));
        const auto part = [](const Tensor& t, std::int64_t from, std::int64_t to) {
          return t.view().slice(0, 1, 2).slice(1, from, to);
        };
        const WeightsSummary alone = summary(part(q, 2, 4), part(k, 1, 2), all);
        for (const Part& p : {Part{"top_keys", part(whole.top_keys, 2, 4), alone.top_keys},
                              Part{"top_weights", part(whole.top_weights, 2, 4), alone.top_weights},
                              Part{"received", part(whole.received, 2, 4), alone.received},
                              Part{"entropy", part(whole.entropy, 2, 4), alone.entropy},
                              Part{"map", part(whole.map, 2, 4), alone.map}}) {
          EXPECT_TRUE(same_bits(p.whole, p.alone)) << p.what << " " << name_of(dtype) << causal << given;
        }
        EXPECT_TRUE(same_bits(summary(q, k, {.top_k = 8}).top_weights, whole.top_weights));
        EXPECT_TRUE(same_bits(summary(q, k, {.received = true}).received, whole.received));
        EXPECT_TRUE(same_bits(summary(q, k, {.entropy = true}).entropy, whole.entropy));
        EXPECT_TRUE(same_bits(summary(q, k, {.map_rows = 37, .map_columns = 13}).map, whole.map));
        // Fewer queries: what belongs to a row does not change.
        const WeightsSummary fewer = summary(q.view().slice(2, 0, 150), k, {.top_k = 8, .entropy = true});
        EXPECT_TRUE(same_bits(fewer.top_keys, whole.top_keys.view().slice(2, 0, 150)));
        EXPECT_TRUE(same_bits(fewer.entropy, whole.entropy.view().slice(2, 0, 150)));
        // Another layout of the same numbers.
        const Tensor turned = copy_of(k.view().transposed(1, 2));
        EXPECT_TRUE(same_bits(summary(q, turned.view().transposed(1, 2), all), whole));
      }
    }
  }
}

TEST(GpuWeights, EqualScoresKeepTheOrderOfTheirKeys) {
  ATTEND_NEEDS_GPU();
  for (const DType dtype : {DType::f32, DType::bf16}) {
    Tensor k(DType::f32, {1, 1, 700, 64}), q(DType::f32, {1, 1, 90, 64});
    for (std::size_t j = 0; j < 700; ++j) k.values<float>()[j * 64] = static_cast<float>(j * 7 % 5);
    for (std::size_t i = 0; i < 90; ++i) q.values<float>()[i * 64] = 1;
    const Tensor q_there = to_gpu(copy_of(q, dtype)), k_there = to_gpu(copy_of(k, dtype));
    for (const std::int64_t top_k : {1, 3, 8, 20, 40, 200, 900}) {
      const Tensor expected = reference::summarize_weights(q, k, {}, {.top_k = top_k}).top_keys;
      const Tensor got = to_host(summarize_weights(q_there, k_there, {}, {.top_k = top_k}).top_keys);
      EXPECT_EQ(values_of(got), values_of(expected)) << top_k << " " << name_of(dtype);
    }
  }
}

// Weights of a row add up to 1, entropies are right, and the largest key is found, at scores of any size.
TEST(GpuWeights, ScoresOfAnySize) {
  ATTEND_NEEDS_GPU();
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const double size : {0.01, 1.0, 5.0, 40.0}) {
      const Tensor q = random_normal({1, 2, 130, 64}, dtype, 5, size),
                   k = random_normal({1, 2, 900, 64}, dtype, 6, size);
      const Tensor q_there = to_gpu(q), k_there = to_gpu(k);
      const WeightsRequest all{.top_k = 4, .received = true, .entropy = true};
      const WeightsSummary expected = reference::summarize_weights(q, k, {}, all);
      // Scores reach 100 times the square of `size`, and a weight's relative error is one unit of their last
      // place.
      const double bound = 1e-5 + size * size * 100 * 0x1p-23 * 4;
      for (const bool given : {false, true}) {
        RowState state(q_there);
        Tensor out(DType::f32, q.shape(), kGpu);
        attention(q_there, k_there, k_there, {}, out, state);
        const WeightsSummary got = to_host(given ? summarize_weights(q_there, k_there, {}, all, state)
                                                 : summarize_weights(q_there, k_there, {}, all));
        SCOPED_TRACE(std::string(name_of(dtype)) + " size " + std::to_string(size) + (given ? " given" : ""));
        expect_close("received", got.received, expected.received, bound);
        expect_close("entropy", got.entropy, expected.entropy, bound);
        expect_close("top_weights", got.top_weights, expected.top_weights, bound);
        const std::vector<double> received = values_of(got.received);
        EXPECT_NEAR(std::accumulate(received.begin(), received.end(), 0.0), 260, 260 * bound);
        const Tensor rows =
            to_host(given ? attention_rows(q_there, k_there, {}, Stage::weights, {.rows = {3, 77}}, state)
                          : attention_rows(q_there, k_there, {}, Stage::weights, {.rows = {3, 77}}));
        for (const std::int64_t row : {0, 1}) {
          const std::vector<double> weights = values_of(rows.view().select(1, 1).select(1, row));
          EXPECT_NEAR(std::accumulate(weights.begin(), weights.end(), 0.0), 1, given ? bound : 1e-6);
        }
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(GpuWeights, RowsOfAnyLengthAddUpTo1) {
  ATTEND_NEEDS_GPU();
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const std::int64_t length = 70'000;
    const Tensor q = to_gpu(random_normal({1, 1, 40, 64}, dtype, 1)),
                 k = to_gpu(random_normal({1, 1, length, 64}, dtype, 2));
    const Tensor rows = to_host(attention_rows(q, k, {}, Stage::weights, {.rows = {7, 31}}));
    for (const std::int64_t row : {0, 1}) {
      const std::vector<double> weights = values_of(rows.view().select(2, row));
      EXPECT_NEAR(std::accumulate(weights.begin(), weights.end(), 0.0), 1, 1e-6);
    }
    const std::vector<double> received =
        values_of(to_host(summarize_weights(q, k, {}, {.received = true}).received));
    EXPECT_NEAR(std::accumulate(received.begin(), received.end(), 0.0), 40, 40 * 1e-5) << name_of(dtype);
    // The other way around: very many rows lose nothing.
    const Tensor few = to_gpu(random_normal({1, 1, 3, 64}, dtype, 3));
    const std::vector<double> sums =
        values_of(to_host(summarize_weights(k, few, {}, {.received = true}).received));
    EXPECT_NEAR(std::accumulate(sums.begin(), sums.end(), 0.0), static_cast<double>(length),
                1e-5 * static_cast<double>(length));
  }
}

TEST(GpuWeights, RowsWithoutKeysAre0) {
  ATTEND_NEEDS_GPU();
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Tensor q = to_gpu(random_normal({1, 1, 200, 64}, dtype, 1)),
                 k = to_gpu(random_normal({1, 1, 200, 64}, dtype, 2));
    AttentionOptions options;
    options.causal = true;
    options.query_offset = -150;
    const WeightsRequest all{
        .top_k = 3, .received = true, .entropy = true, .map_rows = 200, .map_columns = 4};
    const WeightsSummary got = to_host(summarize_weights(q, k, options, all));
    for (std::size_t i = 0; i < 150; ++i) {
      EXPECT_EQ(got.entropy.values<float>()[i], 0);
      EXPECT_EQ(got.top_keys.values<std::int64_t>()[3 * i], -1);
      EXPECT_EQ(got.top_weights.values<float>()[3 * i], 0);
      EXPECT_EQ(got.map.values<float>()[4 * i], 0);
    }
    EXPECT_EQ(got.top_keys.values<std::int64_t>()[3 * 150], 0);
    EXPECT_EQ(got.received.values<float>()[60], 0);
    const std::vector<double> received = values_of(got.received);
    EXPECT_NEAR(std::accumulate(received.begin(), received.end(), 0.0), 50, 1e-4);
  }
}

// A NaN or infinity that takes part makes its row NaN, and all that the row adds to; a hidden one does
// nothing.
TEST(GpuWeights, NaNShowsWhereItTakesPartOnly) {
  ATTEND_NEEDS_GPU();
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const MapReduction reduction : {MapReduction::mean, MapReduction::max}) {
      AttentionCase c;
      c.key_heads = 2;
      c.queries = 175;
      c.keys = 240;
      c.d = c.dv = 64;
      c.causal = true;
      AttentionInputs in = make_inputs(c);
      const auto at = [&](Tensor& t, std::int64_t row) -> float& {
        return t.values<float>()[static_cast<std::size_t>(row * 64 + 3)];
      };
      at(in.q_storage, 10) = NAN;              // row 10 of head 0
      at(in.k_storage, 170) = NAN;             // seen by rows 170 to 174 of head 0
      at(in.k_storage, 239) = NAN;             // seen by none
      at(in.k_storage, 240 + 160) = INFINITY;  // head 1: rows from 160 on, -inf for half of them
      in.q_storage = copy_of(in.q_storage, dtype);
      in.k_storage = copy_of(in.k_storage, dtype);
      in.v_storage = copy_of(in.v_storage, dtype);
      in.q = in.q_storage;
      in.k = in.k_storage;
      in.v = in.v_storage;
      const GpuInputs there(in);
      const WeightsRequest request{.top_k = 3,
                                   .received = true,
                                   .entropy = true,
                                   .map_rows = 9,
                                   .map_columns = 140,
                                   .map_reduction = reduction};
      const WeightsSummary expected = reference::summarize_weights(in.q, in.k, in.options, request);
      for (const bool given : {false, true}) {
        SCOPED_TRACE(std::string(name_of(dtype)) + (given ? " given" : " computed"));
        const WeightsSummary got = summary_on_gpu(there, request, given);
        expect_summary(in, got, expected, 1e-5);
        if (HasFatalFailure()) return;
        EXPECT_TRUE(std::isnan(got.entropy.values<float>()[10]));
        EXPECT_FALSE(std::isnan(got.received.values<float>()[175]));
        EXPECT_FALSE(std::isnan(got.entropy.values<float>()[169]));
        const RowState state = given ? state_on_gpu(there) : RowState();
        const Tensor rows = given ? attention_rows(there.q, there.k, there.options, Stage::weights, {}, state)
                                  : attention_rows(there.q, there.k, there.options, Stage::weights);
        expect_close("weights", to_host(rows),
                     reference::attention_rows(in.q, in.k, in.options, Stage::weights), 1e-5);
      }
    }
  }
}

// Of two halves of the keys, each with the state of both.
TEST(GpuWeights, AMergedStateServesItsParts) {
  ATTEND_NEEDS_GPU();
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const std::int64_t keys = 700, cut = 333;
    const Tensor q = to_gpu(random_normal({1, 2, 190, 64}, dtype, 1)),
                 k = to_gpu(random_normal({1, 2, keys, 64}, dtype, 2));
    const WeightsRequest request{.top_k = 3, .received = true, .entropy = true};
    const auto part = [&](std::int64_t begin, std::int64_t end, RowState& state) {
      Tensor out(DType::f32, q.shape(), kGpu);
      const ConstTensorView some = k.view().slice(2, begin, end);
      attention(q, some, some, {}, out, state);
      return out;
    };
    RowState a(q), b(q), merged(q);
    Tensor out_a = part(0, cut, a);
    const Tensor out_b = part(cut, keys, b);
    merge_attention(out_a, a, out_b, b, out_a, merged);
    const WeightsSummary whole = to_host(summarize_weights(q, k, {}, request));
    const WeightsSummary low = to_host(summarize_weights(q, k.view().slice(2, 0, cut), {}, request, merged)),
                         high =
                             to_host(summarize_weights(q, k.view().slice(2, cut, keys), {}, request, merged));
    EXPECT_LE(max_abs_difference(low.received, whole.received.view().slice(2, 0, cut)), 1e-5);
    EXPECT_LE(max_abs_difference(high.received, whole.received.view().slice(2, cut, keys)), 1e-5);
    const std::vector<double> one = values_of(low.entropy), other = values_of(high.entropy),
                              both = values_of(whole.entropy);
    for (std::size_t i = 0; i < both.size(); ++i) EXPECT_NEAR(one[i] + other[i], both[i], 2e-5);
  }
}

TEST(GpuWeights, NothingIsLegal) {
  ATTEND_NEEDS_GPU();
  const WeightsRequest all{.top_k = 2, .received = true, .entropy = true, .map_rows = 2, .map_columns = 2};
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const Dims& shape : {Dims{0, 2, 3, 64}, Dims{2, 0, 3, 64}, Dims{2, 2, 0, 64}}) {
      const Tensor q(dtype, shape, kGpu);
      EXPECT_EQ(summarize_weights(q, q, {}, all).map.shape(), (Dims{shape[0], shape[1], 2, 2}));
    }
    const Tensor q(dtype, {1, 1, 3, 64}, kGpu), none(dtype, {1, 1, 0, 64}, kGpu);
    const WeightsSummary no_keys = to_host(summarize_weights(q, none, {}, all));
    EXPECT_EQ(values_of(no_keys.top_keys), std::vector<double>(6, -1));
    EXPECT_EQ(values_of(no_keys.map), std::vector<double>(4, 0));
    EXPECT_EQ(values_of(no_keys.entropy), std::vector<double>(3, 0));
    const WeightsSummary nothing = summarize_weights(q, q, {}, {});
    EXPECT_EQ(
        nothing.top_keys.count() + nothing.received.count() + nothing.entropy.count() + nothing.map.count(),
        0);
    EXPECT_EQ(attention_rows(q, q, {}, Stage::weights, {.rows = Indices::none()}).count(), 0);
  }
}

}  // namespace
}  // namespace attend
