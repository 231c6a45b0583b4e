// The forms of attention that start from token vectors: without parameters, with one head, with several.
//
// Vectors are rows, as textbooks write them: Q = X Wq with X (L, E) and Wq (E, H * D). A weight stored the
// other way round, as torch.nn.Linear does (out, in), is passed as weight.transposed(0, 1): no copy is made.
#pragma once

#include <cstdint>

#include <attend/attention_backward.h>

namespace attend {

// What a small attention returns when it is asked to show its work.
struct AttentionResult {
  Tensor output;   // (L, Dv)
  Tensor weights;  // (L, L): the caller asked for it, so the matrix is made
};

// softmax(X X^T) X, the parameter-free form: x (n, d) -> output (n, d), weights (n, n). f32 or f64.
AttentionResult self_attention(ConstTensorView x);

// softmax(Q K^T / sqrt(d_k)) V with Q = X Wq, K = X Wk, V = X Wv: x (n, e), wq and wk (e, d_k), wv (e, d_v).
AttentionResult single_head_attention(ConstTensorView x, ConstTensorView wq, ConstTensorView wk,
                                      ConstTensorView wv, const AttentionOptions& options = {});

// Projections of multi-head attention. Head h owns columns [h D, (h + 1) D) of wq, wk and wv; fewer key heads
// than query heads (grouped or multi-query attention) follow from narrower wk and wv. Views that are not
// given: wo = no output projection, biases = 0.
struct MultiHeadWeights {
  ConstTensorView wq{};  // (Eq, Hq * D)
  ConstTensorView wk{};  // (Ek, Hkv * D)
  ConstTensorView wv{};  // (Ek, Hkv * Dv)
  ConstTensorView wo{};  // (Hq * Dv, Eo)
  ConstTensorView bq{};  // (Hq * D)
  ConstTensorView bk{};  // (Hkv * D)
  ConstTensorView bv{};  // (Hkv * Dv)
  ConstTensorView bo{};  // (Eo)
};

// concat over heads of softmax(Q_h K_h^T / sqrt(D)) V_h, times Wo. Queries come from x (B, Lq, Eq); keys and
// values from context (B, Lk, Ek), which is x itself for self-attention. out (B, Lq, Eo), or (B, Lq, Hq * Dv)
// without wo. options as for attention(), for (B, Hq, Lq, Lk); packed lengths are refused here. All tensors
// of one dtype, f32 or f64.
void multi_head_attention(ConstTensorView x, ConstTensorView context, const MultiHeadWeights& weights,
                          std::int64_t heads, const AttentionOptions& options, TensorView out,
                          RowStateView row_state = {});

// A gradient that is not wanted is a view that is not given. Gradients are written, not added to.
struct MultiHeadGradients {
  TensorView x{}, context{};  // for self-attention (context is x) the caller adds the two
  TensorView wq{}, wk{}, wv{}, wo{};
  TensorView bq{}, bk{}, bv{}, bo{};
  AttentionGradients attention{};  // bias, alibi_slopes and sinks; its q, k and v are ignored
};

// The gradients of multi_head_attention(), from its inputs and d_out, the gradient of its output. Projections
// and heads are recomputed, so nothing has to be kept. All tensors of one dtype, f32 or f64, which comes from
// the reference. The same bits with any number of threads.
void multi_head_attention_backward(ConstTensorView x, ConstTensorView context,
                                   const MultiHeadWeights& weights, std::int64_t heads,
                                   const AttentionOptions& options, ConstTensorView d_out,
                                   const MultiHeadGradients& gradients);

// The projected heads, (B, H, L, D) each: what attention() and attention_rows() take, to look inside.
struct ProjectedHeads {
  Tensor q_storage, k_storage, v_storage;  // (B, L, H * D)
  ConstTensorView q, k, v;                 // the same memory as (B, H, L, D)
};
ProjectedHeads project_heads(ConstTensorView x, ConstTensorView context, const MultiHeadWeights& weights,
                             std::int64_t heads);

}  // namespace attend
