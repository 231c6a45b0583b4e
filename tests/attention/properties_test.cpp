// What must hold whatever the numbers are. "Same bits" means memcmp, not a tolerance.
#include <attend/attention.h>
#include <attend/threads.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "support/arbitrary_case.h"
#include "support/compare.h"
#include "support/random.h"

namespace attend {
namespace {

struct Result {
  Tensor out;
  RowState state;
};

Result run(const AttentionInputs& in, ConstTensorView q, ConstTensorView k, ConstTensorView v,
           const AttentionOptions& options) {
  Result result{Tensor(in.q.dtype(), {}), RowState(q)};
  Dims shape = q.shape();
  shape[shape.rank() - 1] = v.size(v.rank() - 1);
  result.out = Tensor(in.q.dtype(), shape);
  attention(q, k, v, options, result.out, result.state);
  return result;
}

Result run(const AttentionInputs& in) { return run(in, in.q, in.k, in.v, in.options); }

bool same(const Result& a, const Result& b) {
  return same_bits(a.out, b.out) && same_bits(a.state.max, b.state.max) &&
         same_bits(a.state.sum, b.state.sum);
}

// rows[i] becomes row order[i] of the result, along axis 2.
Tensor permuted(ConstTensorView view, int axis, const std::vector<std::int64_t>& order) {
  Tensor result(view.dtype(), view.shape());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto to = static_cast<std::int64_t>(i);
    copy(view.slice(axis, order[i], order[i] + 1), result.view().slice(axis, to, to + 1));
  }
  return result;
}

std::vector<std::int64_t> arbitrary_order(std::int64_t count) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  const auto seed = *rc::gen::arbitrary<std::uint32_t>();
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_bits(seed, i) % i]);
  return order;
}

// Products in f32, or in bf16 where the machine can: what is bit for bit must be so in both.
AttentionCase arbitrary_case_of_any_precision(std::int64_t longest = 40) {
  AttentionCase c = arbitrary_case(DType::f32, longest);
  if (*rc::gen::arbitrary<bool>()) c.precision = Precision::bf16;
  return c;
}

TEST(Properties, TheOrderOfKeysDoesNotMatterWithoutPositions) {
  EXPECT_PROPERTY("permuting keys and values together", [] {
    AttentionCase c = arbitrary_case();
    c.packed = c.causal = c.alibi = c.key_lengths = false;
    c.window_left = c.window_right = -1;
    c.mask = CaseMask::none;
    c.bias = CaseBias::none;
    RC_LOG(describe(c));
    const AttentionInputs in = make_inputs(c);
    const std::vector<std::int64_t> order = arbitrary_order(c.keys);
    const Tensor k = permuted(in.k, 2, order), v = permuted(in.v, 2, order);
    RC_ASSERT(max_abs_difference(run(in).out, run(in, in.q, k, v, in.options).out) <= 2e-6);
  });
}

TEST(Properties, PermutingTheQueriesPermutesTheResultBitForBit) {
  EXPECT_PROPERTY("a row does not depend on its neighbours", [] {
    AttentionCase c = arbitrary_case_of_any_precision();
    c.packed = c.causal = c.alibi = false;
    c.window_left = c.window_right = -1;
    if (c.mask == CaseMask::full || c.mask == CaseMask::matrix) c.mask = CaseMask::per_key;
    if (c.bias != CaseBias::none) c.bias = CaseBias::per_key;
    RC_LOG(describe(c));
    const AttentionInputs in = make_inputs(c);
    const std::vector<std::int64_t> order = arbitrary_order(c.queries);
    const Tensor q = permuted(in.q, 2, order);
    RC_ASSERT(same_bits(permuted(run(in).out, 2, order), run(in, q, in.k, in.v, in.options).out));
  });
}

TEST(Properties, ABatchEqualsItsSequencesAloneBitForBit) {
  EXPECT_PROPERTY("one sequence at a time", [] {
    AttentionCase c = arbitrary_case_of_any_precision();
    c.packed = false;
    RC_LOG(describe(c));
    const AttentionInputs in = make_inputs(c);
    const Result whole = run(in);
    for (std::int64_t b = 0; b < c.batch; ++b) {
      AttentionOptions options = in.options;
      const auto index = static_cast<std::size_t>(b);
      if (!options.key_lengths.empty()) options.key_lengths = {options.key_lengths[index]};
      if (c.offset == CaseOffset::per_sequence) options.query_offset = options.query_offset.values()[index];
      if (options.mask.rank() == 4 && options.mask.size(0) > 1)
        options.mask = options.mask.slice(0, b, b + 1);
      if (options.bias.rank() == 4 && options.bias.size(0) > 1)
        options.bias = options.bias.slice(0, b, b + 1);
      const Result one =
          run(in, in.q.slice(0, b, b + 1), in.k.slice(0, b, b + 1), in.v.slice(0, b, b + 1), options);
      RC_ASSERT(same_bits(whole.out.view().slice(0, b, b + 1), one.out));
      RC_ASSERT(same_bits(whole.state.max.view().slice(0, b, b + 1), one.state.max));
      RC_ASSERT(same_bits(whole.state.sum.view().slice(0, b, b + 1), one.state.sum));
    }
  });
}

TEST(Properties, PackedEqualsItsSequencesAloneBitForBit) {
  EXPECT_PROPERTY("packed sequences", [] {
    AttentionCase c = arbitrary_case_of_any_precision();
    c.packed = true;
    RC_LOG(describe(c));
    const AttentionInputs in = make_inputs(c);
    const Result whole = run(in);
    for (std::int64_t s = 0; s < c.batch; ++s) {
      const auto i = static_cast<std::size_t>(s);
      const std::int64_t q0 = in.options.cumulative_query_lengths[i],
                         q1 = in.options.cumulative_query_lengths[i + 1];
      const std::int64_t k0 = in.options.cumulative_key_lengths[i],
                         k1 = in.options.cumulative_key_lengths[i + 1];
      AttentionOptions options = in.options;
      options.cumulative_query_lengths.clear();
      options.cumulative_key_lengths.clear();
      if (c.offset == CaseOffset::per_sequence) options.query_offset = options.query_offset.values()[i];
      for (ConstTensorView* table : {&options.mask, &options.bias}) {
        if (!table->given()) continue;
        if (table->rank() == 4 && table->size(0) > 1) *table = table->slice(0, s, s + 1);
        if (table->size(table->rank() - 2) > 1) *table = table->slice(table->rank() - 2, 0, q1 - q0);
        *table = table->slice(table->rank() - 1, 0, k1 - k0);
      }
      // (L, H, D) of the sequence, seen as (1, H, L, D)
      const auto dense = [](ConstTensorView view, std::int64_t begin, std::int64_t end) {
        return view.slice(0, begin, end).transposed(0, 1).with_axis(0);
      };
      const Result one = run(in, dense(in.q, q0, q1), dense(in.k, k0, k1), dense(in.v, k0, k1), options);
      RC_ASSERT(same_bits(dense(ConstTensorView(whole.out), q0, q1), one.out));
    }
  });
}

TEST(Properties, PaddingChangesNothing) {
  EXPECT_PROPERTY("keys beyond the length", [] {
    AttentionCase c = arbitrary_case_of_any_precision();
    c.packed = false;
    c.key_lengths = true;
    c.batch = 1;
    RC_LOG(describe(c));
    const AttentionInputs in = make_inputs(c);
    const std::int64_t length = *rc::gen::inRange<std::int64_t>(0, c.keys + 1);
    AttentionOptions padded = in.options, exact = in.options;
    padded.key_lengths = {length};
    exact.key_lengths.clear();
    for (ConstTensorView* table : {&exact.mask, &exact.bias}) {
      if (table->given() && table->size(table->rank() - 1) == c.keys) {
        *table = table->slice(table->rank() - 1, 0, length);
      }
    }
    RC_ASSERT(same(run(in, in.q, in.k, in.v, padded),
                   run(in, in.q, in.k.slice(2, 0, length), in.v.slice(2, 0, length), exact)));
  });
}

TEST(Properties, ACausalPrefixDoesNotSeeWhatFollows) {
  EXPECT_PROPERTY("the first rows of a longer text", [] {
    AttentionCase c = arbitrary_case_of_any_precision();
    c.packed = c.key_lengths = false;
    c.causal = true;
    c.offset = CaseOffset::top_left;
    c.keys = c.queries;
    c.mask = CaseMask::none;
    c.bias = CaseBias::none;
    RC_LOG(describe(c));
    const AttentionInputs in = make_inputs(c);
    const std::int64_t length = *rc::gen::inRange<std::int64_t>(0, c.queries + 1);
    const Result whole = run(in);
    const ConstTensorView q = in.q.slice(2, 0, length), k = in.k.slice(2, 0, length);
    const Result prefix = run(in, q, k, in.v.slice(2, 0, length), in.options);
    // A prefix of few queries goes to another kernel, and then agrees but for rounding.
    const bool same_kernel = attention_kernel(q, k, in.options).name == attention_kernel(in.q, in.k).name;
    const ConstTensorView expected = whole.out.view().slice(2, 0, length);
    if (same_kernel) {
      RC_ASSERT(same_bits(expected, prefix.out));
    } else {
      RC_ASSERT(max_abs_difference(expected, prefix.out) <= (c.precision ? 0.05 : 2e-6));
    }
  });
}

TEST(Properties, AConstantAddedToARowOfScoresChangesNothing) {
  EXPECT_PROPERTY("softmax shift", [] {
    AttentionCase c = arbitrary_case();
    c.bias = CaseBias::none;
    c.sinks = false;
    RC_LOG(describe(c));
    const AttentionInputs in = make_inputs(c);
    const Tensor shift = Tensor::from<float>({1, 1}, {*rc::gen::element(-64.0f, -1.0f, 2.0f, 64.0f)});
    AttentionOptions shifted = in.options;
    shifted.bias = shift;
    RC_ASSERT(max_abs_difference(run(in).out, run(in, in.q, in.k, in.v, shifted).out) <= 2e-5);
  });
}

TEST(Properties, TwoHalvesMergeIntoTheWhole) {
  EXPECT_PROPERTY("keys split at any place", [] {
    AttentionCase c = arbitrary_case();
    c.packed = c.key_lengths = c.sinks = false;
    if (c.offset == CaseOffset::bottom_right) c.offset = CaseOffset::one;
    RC_LOG(describe(c));
    const AttentionInputs in = make_inputs(c);
    const std::int64_t cut = *rc::gen::inRange<std::int64_t>(0, c.keys + 1);
    const auto part = [&](std::int64_t begin, std::int64_t end) {
      AttentionOptions options = in.options;
      std::vector<std::int64_t> offsets = options.query_offset.values();
      offsets.resize(static_cast<std::size_t>(c.batch), offsets.front());
      for (std::int64_t& offset : offsets) offset -= begin;
      options.query_offset = offsets;
      for (ConstTensorView* table : {&options.mask, &options.bias}) {
        if (table->given()) *table = table->slice(table->rank() - 1, begin, end);
      }
      return run(in, in.q, in.k.slice(2, begin, end), in.v.slice(2, begin, end), options);
    };
    const Result whole = run(in);
    const Result a = part(0, cut), b = part(cut, c.keys);
    Result merged{Tensor(DType::f32, whole.out.shape()), RowState(in.q)};
    merge_attention(a.out, a.state, b.out, b.state, merged.out, merged.state);
    // Both are fp32, each within 1e-6 of float64.
    RC_ASSERT(max_abs_difference(merged.out, whole.out) <= 2e-6);
    RC_ASSERT(max_abs_difference(merged.state.max, whole.state.max) == 0);
    RC_ASSERT(max_abs_difference(merged.state.sum, whole.state.sum) <= 1e-4);
  });
}

// Outputs of 16 bits come with a state of 32.
TEST(Properties, HalvesOfHalfPrecisionMergeToo) {
  AttentionCase c;
  c.dtype = DType::bf16;
  c.keys = 20;
  const AttentionInputs in = make_inputs(c);
  const auto part = [&](std::int64_t begin, std::int64_t end) {
    Result result{Tensor(DType::bf16, in.output_shape()), RowState(in.q)};
    attention(in.q, in.k.slice(2, begin, end), in.v.slice(2, begin, end), in.options, result.out,
              result.state);
    return result;
  };
  const Result whole = part(0, 20), a = part(0, 7), b = part(7, 20);
  Result merged = part(0, 0);
  merge_attention(a.out, a.state, b.out, b.state, merged.out, merged.state);
  EXPECT_LE(max_abs_difference(merged.out, whole.out), 0.02);
  EXPECT_LE(max_abs_difference(merged.state.sum, whole.state.sum), 1e-5);
}

TEST(Properties, ResultsAreTheSameBitsWithAnyNumberOfThreads) {
  EXPECT_PROPERTY("1, 2, 3 and 8 threads", [] {
    const AttentionCase c = arbitrary_case_of_any_precision(200);
    RC_LOG(describe(c));
    const AttentionInputs in = make_inputs(c);
    set_threads(1);
    const Result alone = run(in);
    for (const int count : {2, 3, 8}) {
      set_threads(count);
      RC_ASSERT(same(alone, run(in)));
    }
    set_threads(0);
  });
}

TEST(Properties, HowTensorsLieInMemoryDoesNotMatter) {
  EXPECT_PROPERTY("any strides give the bits of row-major", [] {
    const AttentionCase c = arbitrary_case_of_any_precision();
    RC_LOG(describe(c));
    const AttentionInputs in = make_inputs(c);
    const Tensor q = copy_of(in.q), k = copy_of(in.k), v = copy_of(in.v);
    RC_ASSERT(same(run(in), run(in, q, k, v, in.options)));

    // The output too: heads inside, every other element.
    const Tensor expected = attention(in.q, in.k, in.v, in.options);
    Dims wide = expected.shape();
    wide[wide.rank() - 1] *= 2;
    Tensor storage(DType::f32, wide);
    Dims strides = row_major_strides(wide);
    strides[wide.rank() - 1] = 2;
    const TensorView strided(storage.view().raw(), DType::f32, expected.shape(), strides);
    attention(in.q, in.k, in.v, in.options, strided);
    RC_ASSERT(same_bits(strided, expected));
  });
}

TEST(Properties, GroupedHeadsEqualRepeatedHeads) {
  EXPECT_PROPERTY("query head h uses key head h / group", [] {
    AttentionCase c = arbitrary_case_of_any_precision();
    c.packed = false;
    RC_LOG(describe(c));
    const AttentionInputs in = make_inputs(c);
    Tensor k(DType::f32, {c.batch, c.query_heads(), c.keys, c.d}),
        v(DType::f32, {c.batch, c.query_heads(), c.keys, c.dv});
    for (std::int64_t h = 0; h < c.query_heads(); ++h) {
      copy(in.k.slice(1, h / c.group, h / c.group + 1), k.view().slice(1, h, h + 1));
      copy(in.v.slice(1, h / c.group, h / c.group + 1), v.view().slice(1, h, h + 1));
    }
    RC_ASSERT(same(run(in), run(in, in.q, k, v, in.options)));
  });
}

}  // namespace
}  // namespace attend
