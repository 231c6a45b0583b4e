// Weights on demand: every summary against its definition, on every instruction set, with the row state given
// and computed; and what must not change a bit of them.
#include <attend/isa.h>
#include <attend/threads.h>
#include <gtest/gtest.h>

#include <iostream>

#include "attention/weights_cases.h"
#include "support/compare.h"
#include "support/random.h"
#include "support/sanitized.h"

namespace attend {
namespace {

struct EveryIsa {
  EveryIsa() : names(available_isas()) {}
  ~EveryIsa() { set_isa(""); }
  std::vector<std::string> names;
};

RowState state_of(const AttentionInputs& in) {
  RowState state(in.q);
  Tensor out = in.output(in.q.dtype());
  attention(in.q, in.k, in.v, in.options, out, state);
  return state;
}

WeightsSummary summary_of(const AttentionInputs& in, const WeightsCase& c) {
  if (!c.state_given) return summarize_weights(in.q, in.k, in.options, c.request);
  return summarize_weights(in.q, in.k, in.options, c.request, state_of(in));
}

// 16-bit types are the same numbers to both sides, so their bound is that of f32.
TEST(Weights, EveryPairOfShapesOptionsAndRequestsIsExact) {
  const EveryIsa isas;
  const std::vector<WeightsCase> cases = weights_cases();
  std::cout << cases.size() << " cases on " << isas.names.size() << " instruction sets\n";
  for (const WeightsCase& c : cases) {
    SCOPED_TRACE(describe(c));
    const AttentionInputs in = make_inputs(c.attention);
    const WeightsSummary expected = reference::summarize_weights(in.q, in.k, in.options, c.request);
    expect_summary(in, expected, defined_summary(in, c.request), 1e-12);
    for (const std::string& isa : isas.names) {
      SCOPED_TRACE(isa);
      set_isa(isa);
      expect_summary(in, summary_of(in, c), expected, 1e-5);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Weights, EveryStageOfChosenRowsIsExact) {
  const EveryIsa isas;
  for (const WeightsCase& c : weights_cases()) {
    if (c.attention.queries == 0) continue;
    SCOPED_TRACE(describe(c));
    const AttentionInputs in = make_inputs(c.attention);
    std::vector<std::int64_t> rows;  // out of order, one of them twice
    for (std::int64_t i = c.attention.queries - 1; i >= 0; i -= 1 + i / 7) rows.push_back(i);
    rows.push_back(rows.front());
    RowSelection selection{.rows = rows};
    const std::int64_t last =
        c.attention.packed ? 0 : c.attention.batch - 1;  // the first packed one is longest
    selection.sequences = {last};
    for (const Stage stage : {Stage::scores, Stage::capped, Stage::biased, Stage::weights}) {
      const Tensor expected = reference::attention_rows(in.q, in.k, in.options, stage, selection);
      for (const std::string& isa : isas.names) {
        set_isa(isa);
        const RowState state = c.state_given ? state_of(in) : RowState();
        const Tensor got = c.state_given ? attention_rows(in.q, in.k, in.options, stage, selection, state)
                                         : attention_rows(in.q, in.k, in.options, stage, selection);
        SCOPED_TRACE(isa);
        expect_close(std::string(name_of(stage)).c_str(), got, expected, 1e-5);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Many tiles, many chunks, cells that cross both.
WeightsCase case_with_options() {
  WeightsCase c;
  c.attention.queries = kSanitized ? 420 : 1100;
  c.attention.keys = kSanitized ? 300 : 900;
  c.attention.key_heads = 2;
  c.attention.d = 16;
  c.attention.dv = 1;
  c.request = {.top_k = 8, .received = true, .entropy = true, .map_rows = 37, .map_columns = 53};
  return c;
}

TEST(Weights, LongSequencesAreExact) {
  const EveryIsa isas;
  for (const bool other : {false, true}) {
    WeightsCase c = case_with_options();
    c.attention.causal = c.state_given = other;
    c.request.map_reduction = other ? MapReduction::max : MapReduction::mean;
    c.request.top_k = other ? 50 : 8;
    const AttentionInputs in = make_inputs(c.attention);
    const WeightsSummary expected = reference::summarize_weights(in.q, in.k, in.options, c.request);
    for (const std::string& isa : isas.names) {
      SCOPED_TRACE(isa);
      set_isa(isa);
      expect_summary(in, summary_of(in, c), expected, 1e-5);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Weights, SameBitsWithAnyNumberOfThreads) {
  const EveryIsa isas;
  for (const std::string& isa : isas.names) {
    set_isa(isa);
    for (const bool packed : {false, true}) {
      WeightsCase c = case_with_options();
      c.attention.packed = packed;
      c.attention.batch = 3;
      c.attention.causal = true;
      c.attention.queries /= 2;
      const AttentionInputs in = make_inputs(c.attention);
      set_threads(1);
      const WeightsSummary alone = summary_of(in, c);
      const Tensor rows = attention_rows(in.q, in.k, in.options, Stage::weights, {.sequences = {0}});
      for (const int count : {2, 3, 8}) {
        set_threads(count);
        EXPECT_TRUE(same_bits(summary_of(in, c), alone)) << isa << " " << count;
        EXPECT_TRUE(
            same_bits(attention_rows(in.q, in.k, in.options, Stage::weights, {.sequences = {0}}), rows));
      }
      set_threads(0);
    }
  }
}

// (L, H, D) of one packed sequence, seen as (1, H, L, D).
ConstTensorView alone(ConstTensorView view, std::int64_t begin, std::int64_t end) {
  return view.slice(0, begin, end).transposed(0, 1).with_axis(0);
}

TEST(Weights, ABatchEqualsItsSequencesAloneBitForBit) {
  WeightsCase c = case_with_options();
  c.attention.batch = 3;
  c.attention.queries = 401;
  c.attention.keys = 130;
  c.attention.group = 2;
  const AttentionInputs in = make_inputs(c.attention);
  const WeightsSummary whole = summary_of(in, c);
  for (std::int64_t b = 0; b < 3; ++b) {
    const auto one = [&](const auto& view) { return ConstTensorView(view).slice(0, b, b + 1); };
    const WeightsSummary single = summarize_weights(one(in.q), one(in.k), in.options, c.request);
    EXPECT_TRUE(same_bits(one(whole.top_keys), single.top_keys));
    EXPECT_TRUE(same_bits(one(whole.top_weights), single.top_weights));
    EXPECT_TRUE(same_bits(one(whole.received), single.received));
    EXPECT_TRUE(same_bits(one(whole.entropy), single.entropy));
    EXPECT_TRUE(same_bits(one(whole.map), single.map));
  }
}

TEST(Weights, PackedEqualsItsSequencesAloneBitForBit) {
  WeightsCase c = case_with_options();
  c.attention.packed = true;
  c.attention.batch = 3;
  const AttentionInputs in = make_inputs(c.attention);
  const WeightsSummary whole = summary_of(in, c);
  for (std::size_t s = 0; s < 3; ++s) {
    const auto q =
        std::pair{in.options.cumulative_query_lengths[s], in.options.cumulative_query_lengths[s + 1]};
    const auto k = std::pair{in.options.cumulative_key_lengths[s], in.options.cumulative_key_lengths[s + 1]};
    const WeightsSummary single =
        summarize_weights(alone(in.q, q.first, q.second), alone(in.k, k.first, k.second), {}, c.request);
    EXPECT_TRUE(same_bits(alone(whole.top_keys, q.first, q.second), single.top_keys));
    EXPECT_TRUE(same_bits(alone(whole.top_weights, q.first, q.second), single.top_weights));
    EXPECT_TRUE(same_bits(alone(whole.received, k.first, k.second), single.received));
    EXPECT_TRUE(same_bits(alone(whole.entropy, q.first, q.second), single.entropy));
    const auto at = static_cast<std::int64_t>(s);
    EXPECT_TRUE(same_bits(ConstTensorView(whole.map).slice(0, at, at + 1), single.map));
  }
}

// Partial results of so many maps would take 70 MB, so heads take turns.
TEST(Weights, HeadsThatTakeTurnsEqualHeadsAlone) {
  const std::int64_t heads = kSanitized ? 14 : 24, length = 600;
  const Tensor q = random_normal({1, heads, length, 1}, DType::f32, 1);
  const WeightsRequest request{.received = true, .map_rows = length, .map_columns = length};
  const WeightsSummary all = summarize_weights(q, q, {}, request);
  for (std::int64_t h = 0; h < heads; h += heads / 2 - 1) {
    const ConstTensorView one = q.view().slice(1, h, h + 1);
    const WeightsSummary single = summarize_weights(one, one, {}, request);
    EXPECT_TRUE(same_bits(all.map.view().slice(1, h, h + 1), single.map)) << h;
    EXPECT_TRUE(same_bits(all.received.view().slice(1, h, h + 1), single.received)) << h;
  }
}

// What is asked for at the same time does not matter, nor do keys that do not exist.
TEST(Weights, OneAnswerDoesNotDependOnTheOthers) {
  const WeightsCase c = case_with_options();
  const AttentionInputs in = make_inputs(c.attention);
  const WeightsSummary all = summary_of(in, c);
  const auto only = [&](const WeightsRequest& request) {
    return summarize_weights(in.q, in.k, in.options, request);
  };
  EXPECT_TRUE(same_bits(only({.top_k = 8}).top_weights, all.top_weights));
  EXPECT_TRUE(same_bits(only({.received = true}).received, all.received));
  EXPECT_TRUE(same_bits(only({.entropy = true}).entropy, all.entropy));
  EXPECT_TRUE(same_bits(only({.map_rows = 37, .map_columns = 53}).map, all.map));

  AttentionOptions padded = in.options;
  padded.key_lengths = {c.attention.keys - 77};
  const ConstTensorView shorter = in.k.slice(2, 0, c.attention.keys - 77);
  const WeightsRequest rows{.top_k = 8, .entropy = true};
  const WeightsSummary with = summarize_weights(in.q, in.k, padded, rows);
  EXPECT_TRUE(same_bits(with, summarize_weights(in.q, shorter, in.options, rows)));
  const Tensor weights = attention_rows(in.q, in.k, padded, Stage::weights, {.rows = {3, 400}});
  EXPECT_TRUE(same_bits(weights.view().slice(3, 0, c.attention.keys - 77),
                        attention_rows(in.q, shorter, in.options, Stage::weights, {.rows = {3, 400}})));
}

// top_weights and attention_rows make a weight from its score in the same way.
TEST(Weights, TopWeightsAreTheWeightsOfTheirRows) {
  WeightsCase c = case_with_options();
  c.request = {.top_k = 5};
  const AttentionInputs in = make_inputs(c.attention);
  const RowState state = state_of(in);
  const WeightsSummary got = summarize_weights(in.q, in.k, in.options, c.request, state);
  const Tensor rows =
      attention_rows(in.q, in.k, in.options, Stage::weights, {.heads = {1}, .rows = {7}}, state);
  for (std::size_t i = 0; i < 5; ++i) {
    const std::size_t place = static_cast<std::size_t>(c.attention.queries + 7) * 5 + i;
    const auto key = static_cast<std::size_t>(got.top_keys.values<std::int64_t>()[place]);
    EXPECT_EQ(got.top_weights.values<float>()[place], rows.values<float>()[key]);
  }
}

// Of two halves of the keys, each with the state of both.
TEST(Weights, AMergedStateServesItsParts) {
  WeightsCase c = case_with_options();
  c.attention.queries = 90;
  c.request = {.top_k = 3, .received = true};
  const AttentionInputs in = make_inputs(c.attention);
  const RowState whole = state_of(in);
  const std::int64_t cut = 133, keys = c.attention.keys;
  const auto part = [&](std::int64_t begin, std::int64_t end) {
    RowState state(in.q);
    Tensor out = in.output(DType::f32);
    attention(in.q, in.k.slice(2, begin, end), in.v.slice(2, begin, end), {}, out, state);
    return std::pair{std::move(out), std::move(state)};
  };
  auto [out_a, a] = part(0, cut);
  auto [out_b, b] = part(cut, keys);
  RowState merged(in.q);
  merge_attention(out_a, a, out_b, b, out_a, merged);
  const Tensor expected = summarize_weights(in.q, in.k, {}, c.request, whole).received;
  const auto received = [&](std::int64_t begin, std::int64_t end) {
    return summarize_weights(in.q, in.k.slice(2, begin, end), {}, c.request, merged).received;
  };
  EXPECT_LE(max_abs_difference(received(0, cut), expected.view().slice(2, 0, cut)), 1e-5);
  EXPECT_LE(max_abs_difference(received(cut, keys), expected.view().slice(2, cut, keys)), 1e-5);
}

TEST(Weights, F64QueriesUseTheReference) {
  WeightsCase c = case_with_options();
  c.attention.dtype = DType::f64;
  c.attention.queries = 60;
  const AttentionInputs in = make_inputs(c.attention);
  const WeightsSummary got = summary_of(in, c),
                       expected = reference::summarize_weights(in.q, in.k, in.options, c.request);
  EXPECT_TRUE(same_bits(got, expected));
  c.state_given = true;
  expect_summary(in, summary_of(in, c), expected, 1e-12);
  EXPECT_LE(max_abs_difference(attention_rows(in.q, in.k, in.options, Stage::weights, {}, state_of(in)),
                               reference::attention_rows(in.q, in.k, in.options, Stage::weights)),
            1e-12);
}

}  // namespace
}  // namespace attend
