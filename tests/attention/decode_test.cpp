// Few queries against many keys: exact on every instruction set and for every storage type, and the same bits
// however the work is shared out.
#include <attend/isa.h>
#include <attend/reference.h>
#include <attend/threads.h>
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

#include "attention/grid.h"
#include "support/compare.h"
#include "support/covering_array.h"
#include "support/not_finite.h"
#include "support/random.h"
#include "support/sanitized.h"

namespace attend {
namespace {

// Across the ends of vectors and of blocks of 512 keys.
const std::vector<std::int64_t> kKeys = {0, 1, 3, 15, 17, 64, 129, 511, 513, kSanitized ? 600 : 1537};
const std::vector<std::int64_t> kQueries = {1, 2, 3, 5, 8};
const std::vector<DType> kTypes = {DType::f32, DType::bf16, DType::f16};

// The knobs of the numerics grid, with those that matter here in front of it.
std::vector<AttentionCase> few_query_cases() {
  const std::vector<int> grid = grid_knob_sizes();
  std::vector<int> sizes = {static_cast<int>(kQueries.size()), static_cast<int>(kKeys.size()),
                            static_cast<int>(kTypes.size()), 4 /*group*/};
  sizes.insert(sizes.end(), grid.begin() + kHeadSizeKnob, grid.end());
  std::vector<AttentionCase> cases;
  std::uint64_t seed = 1;
  for (const std::vector<int>& row : covering_array(sizes)) {
    std::vector<int> shared(row.begin() + 2, row.end());
    shared[0] = shared[1] = 0;
    AttentionCase c = grid_case(shared);
    const auto pick = [&](std::size_t knob) { return static_cast<std::size_t>(row[knob]); };
    c.queries = kQueries[pick(0)];
    c.keys = kKeys[pick(1)];
    c.dtype = kTypes[pick(2)];
    c.group = std::vector<std::int64_t>{1, 2, 5, 9}[pick(3)];
    c.seed = 100 * seed++;
    cases.push_back(c);
  }
  return cases;
}

class DecodeIsa {
 public:
  explicit DecodeIsa(const std::string& name) { set_isa(name); }
  ~DecodeIsa() { set_isa(""); }
};

TEST(Decode, EveryPairOfShapesAndOptionsIsExactOnEveryInstructionSet) {
  const std::vector<AttentionCase> cases = few_query_cases();
  std::cout << cases.size() << " cases for each of " << available_isas().size() << " instruction sets\n";
  for (const AttentionCase& c : cases) {
    const AttentionInputs in = make_inputs(c);
    ASSERT_EQ(attention_kernel(in.q, in.k, in.options).name, "decode");
    Tensor expected = in.output(DType::f64);
    RowState wide;
    wide.max = Tensor(DType::f64, in.q.shape().without(in.q.rank() - 1));
    wide.sum = Tensor(DType::f64, wide.max.shape());
    reference::attention(in.q, in.k, in.v, in.options, expected, wide);
    Tensor expected_lse(DType::f64, wide.max.shape());
    log_sum_exp(wide, expected_lse);
    for (const std::string& name : available_isas()) {
      const DecodeIsa forced(name);
      Tensor out = in.output(DType::f32);
      RowState state(in.q);
      attention(in.q, in.k, in.v, in.options, out, state);
      ASSERT_LE(max_abs_difference(out, expected), kGridBound) << name << " " << describe(c);
      Tensor lse(DType::f32, state.max.shape());
      log_sum_exp(state, lse);
      const std::vector<double> got = values_of(lse), right = values_of(expected_lse);
      for (std::size_t i = 0; i < got.size(); ++i) {
        ASSERT_LE(difference(got[i], right[i]), kGridBound * std::max(1.0, std::abs(right[i])))
            << name << " " << describe(c);
      }
    }
  }
}

// 16-bit numbers are widened in registers: every one of them, infinities and NaN included, as a value that a
// single key hands through.
TEST(Decode, WidensEverySixteenBitNumber) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    Tensor v(dtype, {1, 1, 1, 65536});
    for (std::uint32_t i = 0; i < 65536; ++i)
      static_cast<std::uint16_t*>(v.view().raw())[i] = static_cast<std::uint16_t>(i);
    const Tensor q(dtype, {1, 1, 1, 4}), k(dtype, {1, 1, 1, 4});
    for (const std::string& name : available_isas()) {
      const DecodeIsa forced(name);
      Tensor out(DType::f32, {1, 1, 1, 65536});
      attention(q, k, v, {}, out);
      EXPECT_EQ(max_abs_difference(out, v), 0) << name << " " << name_of(dtype);
    }
  }
}

AttentionCase long_case() {
  AttentionCase c;
  c.batch = 3;
  c.key_heads = 2;
  c.group = 3;
  c.queries = 2;
  c.keys = kSanitized ? 1100 : 2700;
  c.d = c.dv = 40;
  c.causal = true;
  c.offset = CaseOffset::bottom_right;
  c.key_lengths = true;
  c.sinks = true;
  return c;
}

TEST(Decode, TheNumberOfThreadsChangesNoBit) {
  for (const DType dtype : kTypes) {
    AttentionCase c = long_case();
    c.dtype = dtype;
    const AttentionInputs in = make_inputs(c);
    Tensor alone = in.output(DType::f32), shared = in.output(DType::f32);
    RowState alone_state(in.q), shared_state(in.q);
    set_threads(1);
    attention(in.q, in.k, in.v, in.options, alone, alone_state);
    for (const int count : {2, 3, 8}) {
      set_threads(count);
      attention(in.q, in.k, in.v, in.options, shared, shared_state);
      EXPECT_TRUE(same_bits(alone, shared));
      EXPECT_TRUE(same_bits(alone_state.max, shared_state.max));
      EXPECT_TRUE(same_bits(alone_state.sum, shared_state.sum));
    }
    set_threads(0);
  }
}

// One sequence of a packed batch is decoded, another is not; a third has no queries. Each gives the bits it
// gives alone, also where the output is staged.
TEST(Decode, ASequenceGivesTheSameBitsInAnyBatch) {
  const std::vector<std::int64_t> queries = {0, 1, 31, 31, 39}, keys = {0, 700, 740, 800, 1900};
  for (const DType dtype : kTypes) {
    const Tensor q = random_normal({39, 6, 24}, dtype, 1), k = random_normal({1900, 2, 24}, dtype, 2),
                 v = random_normal({1900, 2, 24}, dtype, 3);
    AttentionOptions options;
    options.cumulative_query_lengths = queries;
    options.cumulative_key_lengths = keys;
    EXPECT_EQ(attention_kernel(q, k, options).name.substr(0, 16), "decode and fused");
    Tensor together(dtype, {39, 6, 24});
    RowState state(q);
    attention(q, k, v, options, together, state);
    for (std::size_t s = 0; s + 1 < queries.size(); ++s) {
      const auto part = [&](ConstTensorView view, const std::vector<std::int64_t>& at) {
        return view.slice(0, at[s], at[s + 1]);
      };
      AttentionOptions one;
      one.cumulative_query_lengths = {0, queries[s + 1] - queries[s]};
      one.cumulative_key_lengths = {0, keys[s + 1] - keys[s]};
      Tensor out(dtype, part(q, queries).shape());
      RowState alone(part(q, queries));
      attention(part(q, queries), part(k, keys), part(v, keys), one, out, alone);
      EXPECT_TRUE(same_bits(out, part(together, queries))) << s;
      EXPECT_TRUE(same_bits(alone.max, part(state.max, queries))) << s;
      EXPECT_TRUE(same_bits(alone.sum, part(state.sum, queries))) << s;
    }
  }
}

// What comes before a window or behind a length is in nobody's blocks.
TEST(Decode, KeysThatARowDoesNotSeeChangeNoBit) {
  const std::int64_t n = 1300;
  const Tensor q = random_normal({1, 4, 3, 32}, DType::f32, 1),
               k = random_normal({1, 2, n, 32}, DType::f32, 2),
               v = random_normal({1, 2, n, 32}, DType::f32, 3);
  AttentionOptions three;
  three.causal = true;
  three.query_offset = 1000;
  three.window.left = 600;
  const Tensor together = attention(q, k, v, three);
  for (std::int64_t i = 0; i < 3; ++i) {
    AttentionOptions one = three;
    one.query_offset = 1000 + i;
    const std::int64_t end = 1001 + i;
    const Tensor alone =
        attention(q.view().slice(2, i, i + 1), k.view().slice(2, 0, end), v.view().slice(2, 0, end), one);
    EXPECT_TRUE(same_bits(alone, together.view().slice(2, i, i + 1))) << i;
  }
}

// NaN in keys and values that take no part stays where it is; in one that does, it reaches the output.
TEST(Decode, NanBehindAMaskStaysThereAndNanInSightDoesNot) {
  for (const std::string& name : available_isas()) {
    const DecodeIsa forced(name);
    for (const DType dtype : kTypes) {
      const std::int64_t n = 530, hidden = 517;
      const Tensor q = random_normal({1, 3, 2, 20}, dtype, 1);
      Tensor k = random_normal({1, 1, n, 20}, DType::f64, 2), v = random_normal({1, 1, n, 20}, DType::f64, 3);
      const Tensor clean_k = copy_of(k, dtype), clean_v = copy_of(v, dtype);
      for (Tensor* tensor : {&k, &v}) {
        for (std::int64_t c = 0; c < 20; ++c)
          tensor->values<double>()[static_cast<std::size_t>(hidden * 20 + c)] = kNan;
      }
      const Tensor bad_k = copy_of(k, dtype), bad_v = copy_of(v, dtype);
      Tensor mask(DType::boolean, {1, n}), bias(DType::f32, {1, n});
      for (bool& takes_part : mask.values<bool>()) takes_part = true;
      mask.values<bool>()[hidden] = false;
      bias.values<float>()[hidden] = -std::numeric_limits<float>::infinity();
      std::vector<AttentionOptions> ways(4);
      ways[0].mask = mask;
      ways[1].bias = bias;
      ways[2].key_lengths = {hidden};
      ways[3].window = {5, 5};
      ways[3].query_offset = 500;
      for (const AttentionOptions& options : ways) {
        EXPECT_TRUE(same_bits(attention(q, clean_k, clean_v, options), attention(q, bad_k, bad_v, options)));
      }
      for (const double value : values_of(attention(q, bad_k, clean_v))) EXPECT_TRUE(std::isnan(value));
      for (const double value : values_of(attention(q, clean_k, bad_v))) EXPECT_TRUE(std::isnan(value));
    }
  }
}

// A weight that is 0 only because it is small still lets NaN through: its key takes part.
TEST(Decode, NanUnderAWeightOfZeroIsSeen) {
  const Tensor q = Tensor::from<float>({1, 1, 1, 1}, {1}), k = Tensor::from<float>({1, 1, 2, 1}, {0, -1e4f});
  const Tensor v = Tensor::from<float>({1, 1, 2, 1}, {1, std::numeric_limits<float>::quiet_NaN()});
  const Tensor mask = Tensor::from<bool>({1, 2}, {true, true});
  AttentionOptions options;
  options.mask = mask;  // takes the guarded path
  EXPECT_TRUE(std::isnan(values_of(attention(q, k, v))[0]));
  EXPECT_TRUE(std::isnan(values_of(attention(q, k, v, options))[0]));
}

TEST(Decode, EnormousScoresInDifferentBlocksStayFinite) {
  const std::int64_t n = 1100;
  const Tensor q = Tensor::from<float>({1, 1, 1, 1}, {1});
  Tensor k(DType::f32, {1, 1, n, 1}), v = random_normal({1, 1, n, 1}, DType::f32, 1);
  for (const double size : {1e4, 1e20, 1e38}) {
    for (std::int64_t j = 0; j < n; ++j) {
      k.values<float>()[static_cast<std::size_t>(j)] = static_cast<float>(j % 3 == 0 ? -size : size / 2);
    }
    k.values<float>()[1050] = static_cast<float>(size);
    EXPECT_EQ(values_of(attention(q, k, v))[0], values_of(v)[1050]) << size;
  }
}

}  // namespace
}  // namespace attend
