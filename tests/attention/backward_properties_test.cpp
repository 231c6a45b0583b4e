// What must hold of fp32 gradients whatever the numbers are.
#include <attend/attention_backward.h>
#include <attend/isa.h>
#include <attend/threads.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "support/arbitrary_case.h"
#include "support/gradient_set.h"
#include "support/not_finite.h"
#include "support/refuses.h"
#include "support/sanitized.h"

namespace attend {
namespace {

void set(Tensor& tensor, std::int64_t index, double value) {
  Tensor wide = copy_of(tensor, DType::f64);
  wide.values<double>()[static_cast<std::size_t>(index)] = value;
  copy(wide, tensor);
}

TEST(BackwardProperties, TheSameBitsWithAnyNumberOfThreads) {
  EXPECT_PROPERTY("1, 2, 3 and 8 threads", [] {
    // Beyond 256 keys a sequence is cut into parts.
    AttentionCase c = arbitrary_case(DType::f32, *rc::gen::element(40, 300));
    c.dropout = *rc::gen::arbitrary<bool>();
    RC_LOG(describe(c));
    const AttentionInputs in = make_inputs(c);
    const Tensor d_out = random_d_out(in, DType::f32, c.seed);
    set_threads(1);
    const GradientSet alone = fused_gradients(in, d_out);
    for (const int count : {2, 3, 8}) {
      set_threads(count);
      RC_ASSERT(same_gradients(alone, fused_gradients(in, d_out)));
    }
    set_threads(0);
  });
}

// Many units on few threads stay whole, few units on many are cut into chains: the bits are the same.
TEST(BackwardProperties, TheSameBitsForLongSequencesOnEveryInstructionSet) {
  for (const std::string& isa : available_isas()) {
    set_isa(isa);
    for (const CaseBias bias : {CaseBias::none, CaseBias::matrix, CaseBias::full}) {
      AttentionCase c;
      c.batch = 2;
      c.key_heads = 2;
      c.queries = kSanitized ? 60 : 200;
      c.keys = kSanitized ? 530 : 800;
      c.d = c.dv = 8;
      c.causal = true;
      c.offset = CaseOffset::bottom_right;
      c.bias = bias;
      const AttentionInputs in = make_inputs(c);
      const Tensor d_out = random_d_out(in, DType::f32, 1);
      set_threads(1);
      const GradientSet alone = fused_gradients(in, d_out);
      for (const int count : {2, 8}) {
        set_threads(count);
        EXPECT_TRUE(same_gradients(alone, fused_gradients(in, d_out))) << count << " threads on " << isa;
      }
    }
  }
  set_threads(0);
  set_isa("");
}

TEST(BackwardProperties, ABatchEqualsItsSequencesAloneBitForBit) {
  EXPECT_PROPERTY("one sequence at a time", [] {
    AttentionCase c = arbitrary_case(DType::f32, *rc::gen::element(40, 300));
    c.packed = false;
    RC_LOG(describe(c));
    const AttentionInputs in = make_inputs(c);
    const Tensor d_out = random_d_out(in, DType::f32, c.seed);
    const GradientSet whole = fused_gradients(in, d_out);
    for (std::int64_t b = 0; b < c.batch; ++b) {
      AttentionInputs one;
      one.q = in.q.slice(0, b, b + 1);
      one.k = in.k.slice(0, b, b + 1);
      one.v = in.v.slice(0, b, b + 1);
      one.options = in.options;
      AttentionOptions& options = one.options;
      const auto index = static_cast<std::size_t>(b);
      if (!options.key_lengths.empty()) options.key_lengths = {options.key_lengths[index]};
      if (c.offset == CaseOffset::per_sequence) options.query_offset = options.query_offset.values()[index];
      for (ConstTensorView* table : {&options.mask, &options.bias}) {
        if (table->rank() == 4 && table->size(0) > 1) *table = table->slice(0, b, b + 1);
      }
      const GradientSet alone = fused_gradients(one, copy_of(d_out.view().slice(0, b, b + 1)));
      RC_ASSERT(same_bits(whole.q.view().slice(0, b, b + 1), alone.q));
      RC_ASSERT(same_bits(whole.k.view().slice(0, b, b + 1), alone.k));
      RC_ASSERT(same_bits(whole.v.view().slice(0, b, b + 1), alone.v));
    }
  });
}

TEST(BackwardProperties, PackedSequencesEqualThemselvesAloneBitForBit) {
  EXPECT_PROPERTY("packed sequences", [] {
    AttentionCase c = arbitrary_case();
    c.packed = true;
    c.mask = CaseMask::none;
    c.bias = CaseBias::none;
    RC_LOG(describe(c));
    const AttentionInputs in = make_inputs(c);
    const Tensor d_out = random_d_out(in, DType::f32, c.seed);
    const GradientSet whole = fused_gradients(in, d_out);
    for (std::int64_t s = 0; s < c.batch; ++s) {
      const auto i = static_cast<std::size_t>(s);
      const auto& query = in.options.cumulative_query_lengths;
      const auto& key = in.options.cumulative_key_lengths;
      // (L, H, D) of the sequence, seen as (1, H, L, D)
      const auto dense = [&](ConstTensorView view, const std::vector<std::int64_t>& cumulative) {
        return view.slice(0, cumulative[i], cumulative[i + 1]).transposed(0, 1).with_axis(0);
      };
      AttentionInputs one;
      one.q = dense(in.q, query);
      one.k = dense(in.k, key);
      one.v = dense(in.v, key);
      one.options = in.options;
      one.options.cumulative_query_lengths.clear();
      one.options.cumulative_key_lengths.clear();
      if (c.offset == CaseOffset::per_sequence)
        one.options.query_offset = in.options.query_offset.values()[i];
      const GradientSet alone = fused_gradients(one, copy_of(dense(d_out, query)));
      RC_ASSERT(same_bits(dense(whole.q, query), alone.q));
      RC_ASSERT(same_bits(dense(whole.k, key), alone.k));
      RC_ASSERT(same_bits(dense(whole.v, key), alone.v));
    }
  });
}

// NaN in q, k, v and d_out, behind masks and in the open: it appears where the reference has it, and nowhere
// else.
TEST(BackwardProperties, NanAppearsWhereTheReferenceHasIt) {
  EXPECT_PROPERTY("sprinkled NaN", [] {
    AttentionCase c = arbitrary_case(*rc::gen::element(DType::f32, DType::bf16));
    c.precision = Precision::f32;
    c.dropout = *rc::gen::arbitrary<bool>();
    RC_LOG(describe(c));
    AttentionInputs in = make_inputs(c);
    Tensor d_out = random_d_out(in, DType::f32, c.seed);
    for (Tensor* tensor : {&in.q_storage, &in.k_storage, &in.v_storage, &d_out}) {
      if (tensor->count() == 0 || *rc::gen::arbitrary<bool>()) continue;
      set(*tensor, *rc::gen::inRange<std::int64_t>(0, tensor->count()), kNan);
    }
    std::string where;
    const double error = largest_error(fused_gradients(in, d_out), reference_gradients(in, d_out), where);
    RC_LOG(where);
    RC_ASSERT(error <= 3e-5);
  });
}

TEST(BackwardProperties, ARowWithoutKeysHasGradientZero) {
  AttentionCase c;
  c.queries = c.keys = 70;
  c.sinks = true;
  c.alibi = true;
  c.bias = CaseBias::full;
  AttentionInputs in = make_inputs(c);
  in.options.key_lengths = {0};
  const GradientSet set = fused_gradients(in, random_d_out(in, DType::f32, 1));
  for (const Tensor* tensor : {&set.q, &set.k, &set.v, &set.bias, &set.slopes, &set.sinks}) {
    for (const double value : values_of(*tensor)) ASSERT_EQ(value, 0);
  }
}

// Found by the fuzzer: rows of a d_out without columns were counted from a null pointer.
TEST(BackwardProperties, ValuesMayHaveNoColumns) {
  AttentionCase c;
  c.queries = c.keys = 5;
  c.dv = 0;
  c.sinks = true;
  const AttentionInputs in = make_inputs(c);
  const Tensor d_out = random_d_out(in, DType::f32, 1);
  std::string where;
  EXPECT_EQ(largest_error(fused_gradients(in, d_out), reference_gradients(in, d_out), where), 0) << where;
}

// Found by the fuzzer: query heads were divided by key heads where there are neither.
TEST(BackwardProperties, AnyAxisMayBeEmpty) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const Dims& shape : {Dims{0, 2, 3, 4}, Dims{1, 0, 3, 4}, Dims{1, 2, 0, 4}, Dims{1, 2, 3, 4}}) {
      Dims of_keys = shape;
      if (shape[0] == 1 && shape[1] == 2) of_keys[2] = shape[2] == 0 ? 3 : 0;  // no queries, or no keys
      const Tensor q(dtype, shape), k(dtype, of_keys), v(dtype, of_keys), d_out(dtype, shape);
      Tensor out(dtype, shape);
      RowState state(q);
      attention(q, k, v, {}, out, state);
      Tensor d_q(DType::f32, shape), d_k(DType::f32, of_keys), d_v(DType::f32, of_keys);
      for (Tensor* tensor : {&d_q, &d_k, &d_v}) std::ranges::fill(tensor->values<float>(), 1.f);
      attention_backward(q, k, v, {}, out, state, d_out, {.q = d_q, .k = d_k, .v = d_v});
      for (const Tensor* tensor : {&d_q, &d_k, &d_v}) {
        for (const double value : values_of(*tensor)) ASSERT_EQ(value, 0) << shape[1] << ", " << shape[2];
      }
    }
  }
}

TEST(BackwardProperties, EnormousScoresStayFinite) {
  for (const double size : {1e2, 1e4, 1e18}) {
    AttentionCase c;
    c.queries = c.keys = 65;
    c.d = c.dv = 4;
    AttentionInputs in = make_inputs(c);
    in.q_storage = random_normal(in.q.shape(), DType::f32, 1, size);
    in.k_storage = random_normal(in.k.shape(), DType::f32, 2, size);
    in.q = in.q_storage;
    in.k = in.k_storage;
    in.options.scale = 1e-2;
    const GradientSet set = fused_gradients(in, random_d_out(in, DType::f32, 1));
    for (const Tensor* tensor : {&set.q, &set.k, &set.v}) {
      for (const double value : values_of(*tensor)) ASSERT_TRUE(std::isfinite(value)) << size;
    }
  }
}

TEST(BackwardProperties, OnlyWhatIsWantedIsWritten) {
  AttentionCase c;
  c.queries = c.keys = 70;
  c.bias = CaseBias::matrix;
  c.alibi = c.sinks = true;
  const AttentionInputs in = make_inputs(c);
  const Tensor d_out = random_d_out(in, DType::f32, 1);
  const GradientSet all = fused_gradients(in, d_out);
  Tensor out = in.output(DType::f32);
  RowState state(in.q);
  attention(in.q, in.k, in.v, in.options, out, state);
  const auto alone = [&](TensorView AttentionGradients::*which, const Tensor& expected) {
    Tensor one(DType::f32, expected.shape());
    AttentionGradients gradients;
    gradients.*which = one;
    attention_backward(in.q, in.k, in.v, in.options, out, state, d_out, gradients);
    return same_bits(one, expected);
  };
  EXPECT_TRUE(alone(&AttentionGradients::q, all.q));
  EXPECT_TRUE(alone(&AttentionGradients::k, all.k));
  EXPECT_TRUE(alone(&AttentionGradients::v, all.v));
  EXPECT_TRUE(alone(&AttentionGradients::bias, all.bias));
  EXPECT_TRUE(alone(&AttentionGradients::alibi_slopes, all.slopes));
  EXPECT_TRUE(alone(&AttentionGradients::sinks, all.sinks));
}

TEST(BackwardProperties, GradientsAreRoundedToTheTypeOfTheirView) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    AttentionCase c;
    c.dtype = dtype;
    c.queries = c.keys = 20;
    c.memory = CaseMemory::heads_inside;
    const AttentionInputs in = make_inputs(c);
    const Tensor d_out = random_d_out(in, dtype, 1);
    const GradientSet wide = fused_gradients(in, d_out);
    Tensor out = in.output(DType::f32);
    RowState state(in.q);
    attention(in.q, in.k, in.v, in.options, out, state);
    GradientSet narrow(in, dtype, DType::f32);
    attention_backward(in.q, in.k, in.v, in.options, out, state, d_out, narrow.views);
    EXPECT_TRUE(same_bits(narrow.q, copy_of(wide.q, dtype)));
    EXPECT_TRUE(same_bits(narrow.k, copy_of(wide.k, dtype)));
    EXPECT_TRUE(same_bits(narrow.v, copy_of(wide.v, dtype)));
  }
}

TEST(BackwardProperties, FloatsOf64BitsGetTheReference) {
  AttentionCase c;
  c.dtype = DType::f64;
  const AttentionInputs in = make_inputs(c);
  const Tensor d_out = random_d_out(in, DType::f64, 1);
  Tensor out = in.output(DType::f64);
  RowState state(in.q);
  attention(in.q, in.k, in.v, in.options, out, state);
  GradientSet set(in, DType::f64, DType::f64);
  attention_backward(in.q, in.k, in.v, in.options, out, state, d_out, set.views);
  EXPECT_TRUE(same_gradients(set, reference_gradients(in, d_out)));
}

TEST(BackwardProperties, EachMistakeIsNamed) {
  AttentionCase c;
  const AttentionInputs in = make_inputs(c);
  Tensor out = in.output(DType::f32), d_out = in.output(DType::f32);
  RowState state(in.q), wide(Tensor(DType::f64, in.q.shape()));
  Tensor d_q(DType::f32, in.q.shape()), half(DType::bf16, in.q.shape()), short_out(DType::f32, {1, 1, 4, 7});
  const auto backward = [&](ConstTensorView o, ConstRowStateView s, ConstTensorView d,
                            const AttentionGradients& gradients) {
    attention_backward(in.q, in.k, in.v, in.options, o, s, d, gradients);
  };
  EXPECT_NO_THROW(backward(out, state, d_out, {.q = d_q}));
  EXPECT_NO_THROW(backward(out, state, d_out, {}));
  EXPECT_REFUSES(backward(out, state, short_out, {}),
                 "[attention_backward] d_out has shape (1, 1, 4, 7), expected (1, 1, 4, 8)");
  EXPECT_REFUSES(backward({}, state, d_out, {}), "[attention_backward] out is not given");
  EXPECT_REFUSES(backward(short_out, state, d_out, {}), "out has shape (1, 1, 4, 7), expected (1, 1, 4, 8)");
  EXPECT_REFUSES(backward(out, {}, d_out, {}), "row_state.max is not given");
  EXPECT_REFUSES(backward(out, ConstRowStateView{state.max, {}}, d_out, {}), "row_state.sum is not given");
  EXPECT_REFUSES(backward(out, wide, d_out, {}), "row_state.max is f64, expected f32");
  EXPECT_REFUSES(backward(half, state, d_out, {}), "out is bf16, expected f32");
  EXPECT_REFUSES(backward(out, state, half, {}), "d_out is bf16, expected f32");
  EXPECT_REFUSES(backward(out, state, d_out, {.q = half}), "d_q is bf16, expected f32");
  EXPECT_REFUSES(backward(out, state, d_out, {.q = d_out}), "d_q overlaps d_out in memory");
  EXPECT_REFUSES(backward(out, state, d_out, {.q = out}), "d_q overlaps out in memory");
  EXPECT_REFUSES(backward(out, state, d_out, {.sinks = d_q}), "a gradient of sinks without sinks");
}

}  // namespace
}  // namespace attend
