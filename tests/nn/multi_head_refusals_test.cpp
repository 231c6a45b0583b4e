// Bad input to multi-head attention, forward and backward: one sentence that says what was wrong and where.
#include <attend/reference.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "nn/multi_head_inputs.h"
#include "support/refuses.h"

namespace attend {
namespace {

// A call that is fine: x (2, 4, 5), context (2, 5, 6), 4 heads of 3 and 2 columns over 2 key heads.
struct Call {
  MultiHeadInputs in{DType::f32};
  MultiHeadWeights weights = in.weights();
  ConstTensorView x = in.x, context = in.context;
  std::int64_t heads = 4;
  AttentionOptions options;
  Tensor out_storage{DType::f32, in.output_shape()};
  TensorView out = out_storage;
  RowStateView row_state;
  Tensor d_out_storage{DType::f32, in.output_shape()};
  ConstTensorView d_out = d_out_storage;
  reference::MultiHeadGradients gradients;
  Tensor extra;  // kept alive for views of it

  ConstTensorView another(DType dtype, const Dims& shape) { return extra = Tensor(dtype, shape), extra; }
  TensorView room(DType dtype, const Dims& shape) { return extra = Tensor(dtype, shape), extra; }

  void forward() { multi_head_attention(x, context, weights, heads, options, out, row_state); }
  void backward() {
    reference::multi_head_attention_backward(x, context, weights, heads, options, d_out, gradients);
  }
};

struct Refusal {
  const char* sentence;
  std::function<void(Call&)> spoil;
};

// What both directions look at.
const std::vector<Refusal>& shared_refusals() {
  static const std::vector<Refusal> table = {
      {"x is not given", [](Call& c) { c.x = {}; }},
      {"context is not given", [](Call& c) { c.context = {}; }},
      {"x has shape (4, 5), expected (batch, length, columns)", [](Call& c) { c.x = c.x.select(0, 0); }},
      {"context has shape (5, 6), expected (batch, length, columns)",
       [](Call& c) { c.context = c.context.select(0, 0); }},
      {"x is boolean, expected a floating type",
       [](Call& c) {
         c.x = c.another(DType::boolean, {2, 4, 5});
       }},
      {"context is f64 but x is f32",
       [](Call& c) {
         c.context = c.another(DType::f64, {2, 5, 6});
       }},
      {"context has batch 1, x has 2", [](Call& c) { c.context = c.context.slice(0, 0, 1); }},
      {"wq is not given", [](Call& c) { c.weights.wq = {}; }},
      {"wk is not given", [](Call& c) { c.weights.wk = {}; }},
      {"wv is not given", [](Call& c) { c.weights.wv = {}; }},
      {"wq has shape (5,), expected (in, out)", [](Call& c) { c.weights.wq = c.weights.wq.select(1, 0); }},
      {"wq has 4 rows, but its input has 5 columns",
       [](Call& c) { c.weights.wq = c.weights.wq.slice(0, 0, 4); }},
      {"wk has 5 rows, but its input has 6 columns",
       [](Call& c) { c.weights.wk = c.weights.wk.slice(0, 0, 5); }},
      {"wv has 5 rows, but its input has 6 columns",
       [](Call& c) { c.weights.wv = c.weights.wv.slice(0, 0, 5); }},
      {"wo has 7 rows, but its input has 8 columns",
       [](Call& c) { c.weights.wo = c.weights.wo.slice(0, 0, 7); }},
      {"wo has shape (8,), expected (in, out)", [](Call& c) { c.weights.wo = c.weights.wo.select(1, 0); }},
      {"wk is boolean, expected a floating type",
       [](Call& c) {
         c.weights.wk = c.another(DType::boolean, {6, 6});
       }},
      {"bq has shape (11,), expected (12,)", [](Call& c) { c.weights.bq = c.weights.bq.slice(0, 0, 11); }},
      {"bk has shape (12,), expected (6,)", [](Call& c) { c.weights.bk = c.weights.bq; }},
      {"bv has shape (1, 4), expected (4,)", [](Call& c) { c.weights.bv = c.weights.bv.with_axis(0); }},
      {"bo has shape (4,), expected (7,)", [](Call& c) { c.weights.bo = c.weights.bv; }},
      {"bv is boolean, expected a floating type",
       [](Call& c) { c.weights.bv = c.another(DType::boolean, {4}); }},
      {"bo is given without wo", [](Call& c) { c.weights.wo = {}; }},
      {"wq has 12 columns, which do not divide into 5 heads", [](Call& c) { c.heads = 5; }},
      {"wq has 12 columns, which do not divide into 0 heads", [](Call& c) { c.heads = 0; }},
      {"wq has 12 columns, which do not divide into -4 heads", [](Call& c) { c.heads = -4; }},
      {"wq has 0 columns, which do not divide into 4 heads",
       [](Call& c) {
         c.weights.wq = c.weights.wq.slice(1, 0, 0);
         c.weights.bq = {};
       }},
      {"wk has 6 columns: with 4 to a head, its heads do not divide the 3 of wq",
       [](Call& c) { c.heads = 3; }},
      {"wk has 9 columns: with 3 to a head, its heads do not divide the 4 of wq",
       [](Call& c) {
         c.weights.wk = c.another(DType::f32, {6, 9});
         c.weights.bk = {};
       }},
      {"wk has 0 columns: with 3 to a head, its heads do not divide the 4 of wq",
       [](Call& c) {
         c.weights.wk = c.weights.wk.slice(1, 0, 0);
         c.weights.bk = {};
       }},
      {"wv has 3 columns, which do not divide into the 2 heads of wk",
       [](Call& c) {
         c.weights.wv = c.weights.wv.slice(1, 0, 3);
         c.weights.bv = {};
       }},
      {"packed sequences are for attention(); here x is (batch, length, columns)",
       [](Call& c) {
         c.options.cumulative_query_lengths = {0, 4};
       }},
      {"packed sequences are for attention(); here x is (batch, length, columns)",
       [](Call& c) {
         c.options.cumulative_key_lengths = {0, 4};
       }},
  };
  return table;
}

TEST(MultiHeadRefusals, TheCallItselfIsFine) {
  Call call;
  EXPECT_NO_THROW(call.forward());
  EXPECT_NO_THROW(call.backward());
}

TEST(MultiHeadRefusals, WhatBothDirectionsLookAt) {
  for (const auto& [sentence, spoil] : shared_refusals()) {
    Call call;
    spoil(call);
    EXPECT_REFUSES(call.forward(), "[multi_head_attention] " + std::string(sentence));
    EXPECT_REFUSES(call.backward(), "[reference::multi_head_attention_backward] " + std::string(sentence));
  }
}

TEST(MultiHeadRefusals, Forward) {
  const std::vector<Refusal> table = {
      {"x is bf16, expected f32 or f64",
       [](Call& c) {
         c.x = c.another(DType::bf16, {2, 4, 5});
         c.context = c.x.slice(2, 0, 5);
         c.weights.wk = c.weights.wk.slice(0, 0, 5);
         c.weights.wv = c.weights.wv.slice(0, 0, 5);
       }},
      {"wq is f64, expected f32 as x",
       [](Call& c) {
         c.weights.wq = c.another(DType::f64, {5, 12});
       }},
      {"wv is f64, expected f32 as x",
       [](Call& c) {
         c.weights.wv = c.another(DType::f64, {6, 4});
       }},
      {"wo is f16, expected f32 as x",
       [](Call& c) {
         c.weights.wo = c.another(DType::f16, {8, 7});
       }},
      {"bk is f64, expected f32 as x", [](Call& c) { c.weights.bk = c.another(DType::f64, {6}); }},
      {"bo is f64, expected f32 as x", [](Call& c) { c.weights.bo = c.another(DType::f64, {7}); }},
      {"out is not given", [](Call& c) { c.out = {}; }},
      {"out has shape (2, 4, 8), expected (2, 4, 7)",
       [](Call& c) {
         c.out = c.room(DType::f32, {2, 4, 8});
       }},
      {"out has shape (2, 4, 7), expected (2, 4, 8)", [](Call& c) { c.weights.wo = c.weights.bo = {}; }},
      {"out is f64, expected f32 as x",
       [](Call& c) {
         c.out = c.room(DType::f64, {2, 4, 7});
       }},
      {"out overlaps x in memory",
       [](Call& c) {
         c.weights.wo = c.weights.wo.slice(1, 0, 5);
         c.weights.bo = {};
         c.out = c.in.x;
       }},
      {"out overlaps wq in memory",
       [](Call& c) {
         c.out = TensorView(c.in.wq.values<float>().data(), {2, 4, 7});
       }},
      {"out has strides ",
       [](Call& c) {
         c.out = TensorView(c.in.wq.values<float>().data(), {2, 4, 7}, {0, 7, 1});
       }},
      {"row_state has max but no sum",
       [](Call& c) {
         c.row_state.max = c.room(DType::f32, {2, 4, 4});
       }},
      {"row_state.max has shape (2, 4, 5), expected (2, 4, 4)",
       [](Call& c) {
         c.row_state.max = c.row_state.sum = c.room(DType::f32, {2, 4, 5});
       }},
      {"row_state.max overlaps out in memory",
       [](Call& c) {
         float* const memory = c.out_storage.values<float>().data();
         c.row_state = {TensorView(memory, {2, 4, 4}), c.room(DType::f32, {2, 4, 4})};
       }},
      {"row_state.sum overlaps wo in memory",
       [](Call& c) {
         float* const memory = c.in.wo.values<float>().data();
         c.row_state = {c.room(DType::f32, {2, 4, 4}), TensorView(memory, {2, 4, 4})};
       }},
  };
  for (const auto& [sentence, spoil] : table) {
    Call call;
    spoil(call);
    EXPECT_REFUSES(call.forward(), "[multi_head_attention] " + std::string(sentence));
  }
}

TEST(MultiHeadRefusals, WhatAttentionItselfRefuses) {
  Call call;
  call.options.mask = call.another(DType::boolean, {3, 5});
  EXPECT_REFUSES(call.forward(), "mask has shape (3, 5), which does not broadcast to (2, 4, 4, 5)");
  EXPECT_REFUSES(call.backward(), "mask has shape (3, 5), which does not broadcast to (2, 4, 4, 5)");
}

TEST(MultiHeadRefusals, Backward) {
  const std::vector<Refusal> table = {
      {"d_out is not given", [](Call& c) { c.d_out = {}; }},
      {"d_out has shape (2, 4, 6), expected (2, 4, 7)", [](Call& c) { c.d_out = c.d_out.slice(2, 0, 6); }},
      {"d_out has shape (2, 3, 7), expected (2, 4, 7)", [](Call& c) { c.d_out = c.d_out.slice(1, 0, 3); }},
      {"d_out has shape (2, 4, 7), expected (2, 4, 8)", [](Call& c) { c.weights.wo = c.weights.bo = {}; }},
      {"d_x has shape (2, 4, 6), expected (2, 4, 5)",
       [](Call& c) {
         c.gradients.x = c.room(DType::f64, {2, 4, 6});
       }},
      {"d_context has shape (2, 4, 6), expected (2, 5, 6)",
       [](Call& c) {
         c.gradients.context = c.room(DType::f64, {2, 4, 6});
       }},
      {"d_wq has shape (12, 5), expected (5, 12)",
       [](Call& c) {
         c.gradients.wq = c.room(DType::f64, {12, 5});
       }},
      {"d_wk has shape (6, 7), expected (6, 6)",
       [](Call& c) {
         c.gradients.wk = c.room(DType::f64, {6, 7});
       }},
      {"d_wv has shape (6, 6), expected (6, 4)",
       [](Call& c) {
         c.gradients.wv = c.room(DType::f64, {6, 6});
       }},
      {"d_wo has shape (8, 8), expected (8, 7)",
       [](Call& c) {
         c.gradients.wo = c.room(DType::f64, {8, 8});
       }},
      {"d_bq has shape (6,), expected (12,)", [](Call& c) { c.gradients.bq = c.room(DType::f64, {6}); }},
      {"d_bk has shape (12,), expected (6,)", [](Call& c) { c.gradients.bk = c.room(DType::f64, {12}); }},
      {"d_bv has shape (6,), expected (4,)", [](Call& c) { c.gradients.bv = c.room(DType::f64, {6}); }},
      {"d_bo has shape (8,), expected (7,)", [](Call& c) { c.gradients.bo = c.room(DType::f64, {8}); }},
      {"d_wq is boolean, expected a floating type",
       [](Call& c) {
         c.gradients.wq = c.room(DType::boolean, {5, 12});
       }},
      {"d_bo has strides ",
       [](Call& c) { c.gradients.bo = TensorView(c.in.bo.values<float>().data(), {7}, {0}); }},
      {"d_context overlaps d_x in memory",
       [](Call& c) {
         c.context = c.x;
         c.weights.wk = c.weights.wk.slice(0, 0, 5);
         c.weights.wv = c.weights.wv.slice(0, 0, 5);
         c.gradients.x = c.gradients.context = c.room(DType::f64, {2, 4, 5});
       }},
      {"a gradient of wo without wo",
       [](Call& c) {
         c.weights.wo = c.weights.bo = {};
         c.d_out_storage = Tensor(DType::f32, {2, 4, 8});
         c.d_out = c.d_out_storage;
         c.gradients.wo = c.room(DType::f64, {8, 7});
       }},
      {"a gradient of bo without wo",
       [](Call& c) {
         c.weights.wo = c.weights.bo = {};
         c.d_out_storage = Tensor(DType::f32, {2, 4, 8});
         c.d_out = c.d_out_storage;
         c.gradients.bo = c.room(DType::f64, {7});
       }},
  };
  for (const auto& [sentence, spoil] : table) {
    Call call;
    spoil(call);
    EXPECT_REFUSES(call.backward(), "[reference::multi_head_attention_backward] " + std::string(sentence));
  }
  Call call;
  call.gradients.attention.sinks = call.room(DType::f64, {4});
  EXPECT_REFUSES(call.backward(), "a gradient of sinks without sinks");
}

TEST(MultiHeadRefusals, ProjectHeads) {
  const MultiHeadInputs in(DType::f32);
  EXPECT_REFUSES(project_heads({}, in.context, in.weights(), 4), "[project_heads] x is not given");
  EXPECT_REFUSES(project_heads(in.x, in.context, in.weights(), 5),
                 "[project_heads] wq has 12 columns, which do not divide into 5 heads");
  MultiHeadWeights weights = in.weights();
  const Tensor wide(DType::f64, {6, 6});
  weights.wk = wide;
  EXPECT_REFUSES(project_heads(in.x, in.context, weights, 4), "[project_heads] wk is f64, expected f32 as x");
}

}  // namespace
}  // namespace attend
