// Bad input to every function: one sentence that says what was wrong and where.
#include <attend/attention.h>
#include <attend/isa.h>
#include <attend/reference.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "support/attention_case.h"
#include "support/refuses.h"

namespace attend {
namespace {

struct Call {
  Tensor q{DType::f32, {2, 4, 3, 8}}, k{DType::f32, {2, 2, 5, 8}}, v{DType::f32, {2, 2, 5, 6}};
  Tensor out{DType::f32, {2, 4, 3, 6}};
  AttentionOptions options;
  RowStateView state;
  Tensor extra;  // kept alive for options that view it

  void operator()() { attention(q, k, v, options, out, state); }
};

struct Refusal {
  const char* sentence;
  std::function<void(Call&)> spoil;
};

TEST(Refusals, TheCallItselfIsFine) {
  Call call;
  EXPECT_NO_THROW(call());
}

TEST(Refusals, EachMistakeIsNamed) {
  const double nan = std::nan(""), infinity = HUGE_VAL;
  const std::vector<Refusal> table = {
      {"query has shape (2, 3), expected (batch, heads, length, d)",
       [](Call& c) {
         c.q = Tensor(DType::f32, {2, 3});
       }},
      {"key has shape (5, 8), expected",
       [](Call& c) {
         c.k = Tensor(DType::f32, {5, 8});
       }},
      {"value has shape (5, 8), expected",
       [](Call& c) {
         c.v = Tensor(DType::f32, {5, 8});
       }},
      {"key is f64 but query is f32",
       [](Call& c) {
         c.k = Tensor(DType::f64, {2, 2, 5, 8});
       }},
      {"value is f16 but query is f32",
       [](Call& c) {
         c.v = Tensor(DType::f16, {2, 2, 5, 6});
       }},
      {"query holds boolean values",
       [](Call& c) {
         c.q = Tensor(DType::boolean, {2, 4, 3, 8});
       }},
      {"query holds i64 values, expected a floating type",
       [](Call& c) {
         c.q = Tensor(DType::i64, {2, 4, 3, 8});
       }},
      {"key has head dimension 7, query has 8",
       [](Call& c) {
         c.k = Tensor(DType::f32, {2, 2, 5, 7});
       }},
      {"key has batch 3, query has 2",
       [](Call& c) {
         c.k = Tensor(DType::f32, {3, 2, 5, 8});
       }},
      {"key has 3 heads, not a divisor of the query's 4",
       [](Call& c) {
         c.k = Tensor(DType::f32, {2, 3, 5, 8});
       }},
      {"key has 0 heads, not a divisor",
       [](Call& c) {
         c.k = Tensor(DType::f32, {2, 0, 5, 8});
       }},
      {"value has batch 1, key has 2",
       [](Call& c) {
         c.v = Tensor(DType::f32, {1, 2, 5, 6});
       }},
      {"value has 4 heads, key has 2",
       [](Call& c) {
         c.v = Tensor(DType::f32, {2, 4, 5, 6});
       }},
      {"value has 6 rows, key has 5",
       [](Call& c) {
         c.v = Tensor(DType::f32, {2, 2, 6, 6});
       }},
      {"query has head dimension 0",
       [](Call& c) {
         c.q = Tensor(DType::f32, {2, 4, 3, 0}), c.k = Tensor(DType::f32, {2, 2, 5, 0});
       }},
      {"out has shape (2, 4, 3, 8), expected (2, 4, 3, 6)",
       [](Call& c) {
         c.out = Tensor(DType::f32, {2, 4, 3, 8});
       }},
      {"out is f64, expected f32",
       [](Call& c) {
         c.out = Tensor(DType::f64, {2, 4, 3, 6});
       }},
      {"row_state has max but no sum",
       [](Call& c) {
         c.extra = Tensor(DType::f32, {2, 4, 3}), c.state.max = c.extra;
       }},
      {"row_state.max has shape (2, 4), expected (2, 4, 3)",
       [](Call& c) {
         c.extra = Tensor(DType::f32, {2, 4}), c.state = {c.extra, c.extra};
       }},
      {"row_state is f64, expected f32",
       [](Call& c) {
         c.extra = Tensor(DType::f64, {2, 4, 3}), c.state = {c.extra, c.extra};
       }},
      {"scale is nan, expected a finite number of f32", [=](Call& c) { c.options.scale = nan; }},
      {"scale is inf", [=](Call& c) { c.options.scale = infinity; }},
      {"scale is 1e+39, expected a finite number of f32", [](Call& c) { c.options.scale = 1e39; }},
      {"softcap is 1e+39", [](Call& c) { c.options.softcap = 1e39; }},
      {"softcap is 1e-46, expected a positive number", [](Call& c) { c.options.softcap = 1e-46; }},
      {"sinks holds 1e+39",
       [](Call& c) {
         c.options.sinks = {1, 2, 3, 1e39};
       }},
      {"alibi_slopes holds -1e+39",
       [](Call& c) {
         c.options.alibi_slopes = {1, 2, 3, -1e39};
       }},
      {"softcap is -1, expected a positive number", [](Call& c) { c.options.softcap = -1; }},
      {"softcap is nan", [=](Call& c) { c.options.softcap = nan; }},
      {"dropout is 1, expected a probability from 0 to below 1", [](Call& c) { c.options.dropout = 1; }},
      {"dropout is -0.1, expected a probability", [](Call& c) { c.options.dropout = -0.1; }},
      {"dropout is nan, expected a probability", [=](Call& c) { c.options.dropout = nan; }},
      {"window.left is -2, expected 0 or more", [](Call& c) { c.options.window.left = -2; }},
      {"window.right is -9223372036854775808", [](Call& c) { c.options.window.right = INT64_MIN; }},
      {"key_lengths has 1 entries for 2 sequences", [](Call& c) { c.options.key_lengths = {5}; }},
      {"key_lengths[1] is 6, expected 0 to 5",
       [](Call& c) {
         c.options.key_lengths = {5, 6};
       }},
      {"key_lengths[0] is -1, expected 0 to 5",
       [](Call& c) {
         c.options.key_lengths = {-1, 5};
       }},
      {"query_offset has 3 entries for 2 sequences",
       [](Call& c) {
         c.options.query_offset = std::vector<std::int64_t>{0, 0, 0};
       }},
      {"query_offset is 9223372036854775807, expected -2^48 to 2^48",
       [](Call& c) { c.options.query_offset = INT64_MAX; }},
      {"query_offset is -9223372036854775808, expected -2^48 to 2^48",
       [](Call& c) { c.options.query_offset = INT64_MIN; }},
      {"alibi_slopes has 3 entries for 4 query heads",
       [](Call& c) {
         c.options.alibi_slopes = {1, 2, 3};
       }},
      {"alibi_slopes holds nan",
       [=](Call& c) {
         c.options.alibi_slopes = {1, 2, 3, nan};
       }},
      {"sinks has 1 entries for 4 query heads", [](Call& c) { c.options.sinks = {1}; }},
      {"sinks holds inf",
       [=](Call& c) {
         c.options.sinks = {1, 2, 3, infinity};
       }},
      {"mask is f32, expected boolean (true = takes part); a float mask is a bias",
       [](Call& c) {
         c.extra = Tensor(DType::f32, {3, 5}), c.options.mask = c.extra;
       }},
      {"mask has shape (3, 4), which does not broadcast to (2, 4, 3, 5)",
       [](Call& c) {
         c.extra = Tensor(DType::boolean, {3, 4}), c.options.mask = c.extra;
       }},
      {"bias is boolean, expected a floating type; a boolean bias is a mask",
       [](Call& c) {
         c.extra = Tensor(DType::boolean, {3, 5}), c.options.bias = c.extra;
       }},
      {"bias has shape (2, 3, 3, 5), which does not broadcast to (2, 4, 3, 5)",
       [](Call& c) {
         c.extra = Tensor(DType::f32, {2, 3, 3, 5}), c.options.bias = c.extra;
       }},
      {"query has shape (2, 4, 3, 8), expected (total, heads, d)",
       [](Call& c) {
         c.options.cumulative_query_lengths = {0, 3};
       }},
  };
  for (const Refusal& refusal : table) {
    Call call;
    refusal.spoil(call);
    EXPECT_REFUSES(call(), std::string("[attention] ") + refusal.sentence) << refusal.sentence;
  }
}

struct PackedCall {
  Tensor q{DType::f32, {6, 2, 4}}, k{DType::f32, {7, 2, 4}}, out{DType::f32, {6, 2, 4}};
  AttentionOptions options;
  PackedCall() {
    options.cumulative_query_lengths = {0, 2, 6};
    options.cumulative_key_lengths = {0, 3, 7};
  }
  void operator()() { attention(q, k, k, options, out); }
};

TEST(Refusals, PackedLengthsMustFit) {
  EXPECT_NO_THROW(PackedCall()());
  const auto refused = [](const char* sentence, std::vector<std::int64_t> query,
                          std::vector<std::int64_t> key) {
    PackedCall call;
    call.options.cumulative_query_lengths = std::move(query);
    call.options.cumulative_key_lengths = std::move(key);
    EXPECT_REFUSES(call(), sentence);
  };
  refused("cumulative_key_lengths is not given, but the other side is packed", {0, 6}, {});
  refused("cumulative_query_lengths is not given, but the other side is packed", {}, {0, 7});
  refused("cumulative_query_lengths begins with 1, expected 0", {1, 6}, {0, 7});
  refused("cumulative_query_lengths falls from 7 to 6", {0, 7, 6}, {0, 3, 7});
  refused("cumulative_key_lengths ends with 8, but there are 7 rows", {0, 6}, {0, 8});
  refused("cumulative_query_lengths describes 1 sequences, cumulative_key_lengths 2", {0, 6}, {0, 3, 7});

  PackedCall lengths;
  lengths.options.key_lengths = {3, 4};
  EXPECT_REFUSES(lengths(), "key_lengths has no meaning with packed sequences");
}

TEST(Refusals, ViewsThatAreNotGiven) {
  Call c;
  EXPECT_REFUSES(attention({}, c.k, c.v), "[attention] query is not given");
  EXPECT_REFUSES(attention(c.q, {}, c.v), "[attention] key is not given");
  EXPECT_REFUSES(attention(c.q, c.k, {}), "[attention] value is not given");
  EXPECT_REFUSES(attention(c.q, c.k, c.v, {}, {}), "[attention] out is not given");
  EXPECT_REFUSES(attention_rows(c.q, {}, {}, Stage::weights), "[attention_rows] key is not given");
  EXPECT_REFUSES(reference::attention(c.q, c.k, {}, {}, c.out), "[reference::attention] value is not given");
  EXPECT_REFUSES(log_sum_exp({}, c.out), "[log_sum_exp] row_state is not given");
  EXPECT_REFUSES(attention_kernel(c.q, {}), "[attention_kernel] key is not given");
}

TEST(Refusals, AnOutputWhoseElementsShareOnePlace) {
  Call c;
  for (const Dims& strides : {Dims{72, 18, 0, 1}, Dims{0, 18, 6, 1}, Dims{72, 6, 6, 1}, Dims{72, 18, 5, 1}}) {
    const TensorView folded(c.out.view().raw(), DType::f32, {2, 4, 3, 6}, strides);
    EXPECT_REFUSES(attention(c.q, c.k, c.v, {}, folded), "so several of its elements share one place");
  }
}

TEST(Refusals, OutputsThatOverlapInputs) {
  Tensor q(DType::f32, {1, 1, 4, 8}), other(DType::f32, {1, 1, 4, 8});
  EXPECT_REFUSES(attention(q, other, other, {}, q), "[attention] out overlaps query in memory");
  EXPECT_REFUSES(attention(other, q, other, {}, q), "[attention] out overlaps key in memory");
  EXPECT_REFUSES(attention(other, other, q, {}, q), "[attention] out overlaps value in memory");
  Tensor state(DType::f32, {1, 1, 4}), out(DType::f32, {1, 1, 4, 8});
  EXPECT_REFUSES(attention(q, q, q, {}, out, {state, state}),
                 "row_state.max overlaps row_state.sum in memory");
  Tensor bias(DType::f32, {4, 4}), max(DType::f32, {1, 1, 4});
  AttentionOptions options;
  options.bias = bias;
  EXPECT_REFUSES(attention(q, q, q, options, out, {max, bias.view().slice(0, 0, 1).with_axis(0)}),
                 "row_state.sum overlaps bias in memory");

  // Query, key, value and result side by side in one buffer are apart although they interleave.
  Tensor fused(DType::f32, {1, 4, 4, 8});  // (B, L, which, D)
  const auto part = [&](std::int64_t which) { return fused.view().select(2, which).with_axis(1); };
  EXPECT_NO_THROW(attention(part(0), part(1), part(2), {}, part(3)));
}

TEST(Refusals, Backward) {
  Call c;
  Tensor gradient(DType::f64, {4}), d_out(DType::f32, {2, 4, 3, 6});
  const auto backward = [&](ConstTensorView d, const AttentionGradients& gradients) {
    reference::attention_backward(c.q, c.k, c.v, {}, d, gradients);
  };
  EXPECT_REFUSES(backward(c.q, {}), "d_out has shape (2, 4, 3, 8), expected (2, 4, 3, 6)");
  EXPECT_REFUSES(backward(d_out, {.q = gradient}), "d_q has shape (4,), expected (2, 4, 3, 8)");
  Tensor shared(DType::f32, {2, 2, 5, 8});
  EXPECT_REFUSES(backward(d_out, {.k = shared, .v = TensorView(shared.view().slice(3, 0, 6))}),
                 "d_v overlaps d_k in memory");
  EXPECT_REFUSES(backward(d_out, {.bias = gradient}), "a gradient of bias without a bias");
  EXPECT_REFUSES(backward(d_out, {.alibi_slopes = gradient}), "a gradient of alibi_slopes without slopes");
  EXPECT_REFUSES(backward(d_out, {.sinks = gradient}), "a gradient of sinks without sinks");
}

TEST(Refusals, Merge) {
  Call c;
  RowState state(c.q), other(Tensor(DType::f32, {1, 4, 3, 8}));
  Tensor wrong(DType::f32, {2, 4, 3, 5}), wide(DType::f64, {2, 4, 3, 6});
  const auto merge = [&](ConstTensorView b, ConstRowStateView state_b, TensorView out, RowStateView result) {
    merge_attention(c.out, state, b, state_b, out, result);
  };
  EXPECT_NO_THROW(merge(c.out, state, c.out, state));
  EXPECT_REFUSES(merge(wrong, state, c.out, state), "out_b has shape (2, 4, 3, 5), expected (2, 4, 3, 6)");
  EXPECT_REFUSES(merge(c.out, other, c.out, state), "state_b has shape (1, 4, 3), expected (2, 4, 3)");
  EXPECT_REFUSES(merge(wide, state, c.out, state), "out_b is f64, expected f32 as out");
  EXPECT_REFUSES(merge(c.out, state, c.out, {}), "row_state is not given");
  EXPECT_REFUSES(merge(c.out, state, c.out, {state.sum, state.max}),
                 "row_state.max overlaps a state's sum in memory");
  Tensor longer(DType::f32, {3, 4, 3, 6});
  merge_attention(longer.view().slice(0, 0, 2), state, c.out, state, c.out, state);
  EXPECT_REFUSES(
      merge_attention(longer.view().slice(0, 0, 2), state, c.out, state, longer.view().slice(0, 1, 3), state),
      "out overlaps out_a in memory");
}

TEST(KernelChoice, SaysWhichAndWhy) {
  const auto choice = [](DType dtype, std::int64_t queries) {
    return attention_kernel(Tensor(dtype, {2, 4, queries, 8}), Tensor(dtype, {2, 2, 20, 8}));
  };
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    EXPECT_EQ(choice(dtype, 1).name, "decode");
    EXPECT_EQ(choice(dtype, 8).name, "decode");
    const std::string set = isa(Precision::bf16);
    const std::string_view in_bf16 = set == "avx512_amx"    ? "fused_amx_bf16"
                                     : set == "avx512_bf16" ? "fused_bf16"
                                                            : "fused";
    EXPECT_EQ(choice(dtype, 9).name, dtype == DType::bf16 ? in_bf16 : "fused");
  }
  EXPECT_EQ(choice(DType::f64, 1).name, "reference");
  for (const std::int64_t queries : {0, 1, 9}) EXPECT_FALSE(choice(DType::f32, queries).why.empty());

  // Packed sequences choose for themselves; one without queries has nothing to choose.
  const Tensor q(DType::f32, {13, 4, 8}), k(DType::f32, {20, 2, 8});
  AttentionOptions options;
  options.cumulative_key_lengths = {0, 10, 15, 20};
  options.cumulative_query_lengths = {0, 1, 1, 13};
  EXPECT_EQ(attention_kernel(q, k, options).name, "decode and fused");
  options.cumulative_query_lengths = {0, 0, 0, 13};
  EXPECT_EQ(attention_kernel(q, k, options).name, "fused");
  options.cumulative_query_lengths = {0, 7, 7, 13};
  EXPECT_EQ(attention_kernel(q, k, options).name, "decode");
}

}  // namespace
}  // namespace attend
