// What may be asked for, and which way does it.
#include <attend/spread_attention.h>

#include "attention/layout.h"
#include "base/check.h"
#include "base/error.h"
#include "spread/ways.h"

namespace attend {

using spread::Call;

namespace {

Dims with_last(ConstTensorView view, std::int64_t size) {
  Dims shape = view.shape();
  shape[3] = size;
  return shape;
}

void require_state(const Call& call, ConstRowStateView state) {
  if (!state.max.given() || !state.sum.given())
    refuse(call.operation, "row_state is not given; spread_attention() writes it");
  check_given_row_state(call.operation, state, call.q, call.computes_in());
}

void require_value(const char* operation, ConstTensorView v) {
  if (!v.given()) refuse(operation, "value is not given");
}

}  // namespace

void spread_attention(Processes& processes, SpreadWay way, const SpreadLengths& lengths, ConstTensorView q,
                      ConstTensorView k, ConstTensorView v, const AttentionOptions& options, TensorView out,
                      RowStateView row_state) {
  const char* const operation = "spread_attention";
  require_value(operation, v);
  const Call call(operation, processes, lengths, q, k, v, options);
  require_shape(operation, {"out", out}, with_last(q, v.size(3)));
  if (out.dtype() != q.dtype() && out.dtype() != call.computes_in())
    refuse(operation, "out is ", name_of(out.dtype()), ", expected ", name_of(q.dtype()),
           q.dtype() == call.computes_in() ? "" : " or f32");
  require_writable(operation, {"out", out}, {{"query", q}, {"key", k}, {"value", v}});
  check_row_state(operation, row_state, q.shape().without(3),
                  {{"query", q}, {"key", k}, {"value", v}, {"out", out}});
  if (row_state.max.given())
    check_given_row_state(operation, {row_state.max, row_state.sum}, q, call.computes_in());
  switch (way) {
    case SpreadWay::ring:
      return spread::ring_forward(call, out, row_state);
    case SpreadWay::gathered:
      return spread::gathered_forward(call, out, row_state);
    case SpreadWay::heads:
      return spread::heads_forward(call, out, row_state);
  }
}

void spread_attention_backward(Processes& processes, SpreadWay way, const SpreadLengths& lengths,
                               ConstTensorView q, ConstTensorView k, ConstTensorView v,
                               const AttentionOptions& options, ConstTensorView out,
                               ConstRowStateView row_state, ConstTensorView d_out,
                               const AttentionGradients& gradients) {
  const char* const operation = "spread_attention_backward";
  require_value(operation, v);
  const Call call(operation, processes, lengths, q, k, v, options);
  require_shape(operation, {"out", out}, with_last(q, v.size(3)));
  require_shape(operation, {"d_out", d_out}, out.shape());
  require_state(call, row_state);
  if (gradients.bias.given())
    refuse(operation,
           "the gradient of a bias is not spread over processes; those of q, k, v, slopes and sinks are");
  if (gradients.alibi_slopes.given() && options.alibi_slopes.empty())
    refuse(operation, "a gradient of alibi_slopes without slopes");
  if (gradients.sinks.given() && options.sinks.empty())
    refuse(operation, "a gradient of sinks without sinks");
  const auto check_wanted = [&](const char* name, TensorView wanted, const Dims& shape) {
    if (!wanted.given()) return;
    require_shape(operation, {name, wanted}, shape);
    require_writable(operation, {name, wanted},
                     {{"query", q}, {"key", k}, {"value", v}, {"out", out}, {"d_out", d_out}});
  };
  check_wanted("d_q", gradients.q, q.shape());
  check_wanted("d_k", gradients.k, k.shape());
  check_wanted("d_v", gradients.v, v.shape());
  check_wanted("d_alibi_slopes", gradients.alibi_slopes, {q.size(1)});
  check_wanted("d_sinks", gradients.sinks, {q.size(1)});
  way == SpreadWay::ring ? spread::ring_backward(call, out, row_state, d_out, gradients)
                         : spread::heads_backward(call, out, row_state, d_out, gradients);
}

WeightsSummary spread_weights(Processes& processes, SpreadWay way, const SpreadLengths& lengths,
                              ConstTensorView q, ConstTensorView k, const AttentionOptions& options,
                              const WeightsRequest& request, ConstRowStateView row_state) {
  const char* const operation = "spread_weights";
  const Call call(operation, processes, lengths, q, k, {}, options);
  require_state(call, row_state);
  if (request.map_rows != 0 || request.map_columns != 0)
    refuse(operation, "maps are not spread over processes; top keys, received and entropy are");
  constexpr std::int64_t kMostTop = 1 << 30;
  if (request.top_k < 0 || request.top_k > kMostTop)
    refuse(operation, "top_k is ", request.top_k, ", expected 0 to ", kMostTop);
  WeightsSummary summary;
  const DType number = call.computes_in();
  if (request.top_k > 0) {
    summary.top_keys = Tensor(DType::i64, with_last(q, request.top_k));
    summary.top_weights = Tensor(number, with_last(q, request.top_k));
  }
  if (request.entropy) summary.entropy = Tensor(number, q.shape().without(3));
  if (request.received) summary.received = Tensor(number, {q.size(0), q.size(1), k.size(2)});
  if (way == SpreadWay::ring) {
    spread::ring_weights(call, request, row_state, summary);
  } else if (way == SpreadWay::heads || request.received) {
    spread::heads_weights(call, request, row_state, summary);
  } else {
    spread::gathered_weights(call, request, row_state, summary);
  }
  return summary;
}

}  // namespace attend
