// The backward pass of attention: what must hold of its inputs, and the float64 reference. The reference runs
// on one thread: key heads are shared by query heads and a bias by whole batches, and the order in which
// their gradients are added is then always the same.
#include <attend/reference_attention.h>

#include <algorithm>
#include <iterator>

#include "attention/backward_fused.h"
#include "attention/host_operations.h"
#include "attention/operands.h"
#include "attention/problem.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "kernels/attention/attention_backward_reference.h"

namespace attend {
namespace {

// A gradient that is added up in float64 and delivered once, into whatever the caller has.
class Accumulator {
 public:
  explicit Accumulator(TensorView target) : target_(target) {
    if (target.given()) sum_ = Tensor(DType::f64, target.shape());
  }
  double* at(std::int64_t offset) {
    double* const data = wanted() ? sum_.view().data<double>() : nullptr;
    return data == nullptr ? nullptr : data + offset;
  }
  std::int64_t stride(int axis) const { return target_.given() ? sum_.view().stride(axis) : 0; }
  ConstTensorView view() const { return sum_; }
  bool wanted() const { return target_.given(); }
  void deliver() const {
    if (wanted()) copy(sum_, target_);
  }

 private:
  TensorView target_;
  Tensor sum_;
};

// The layout, when everything that both passes take makes sense together.
Layout check_backward(const char* operation, ConstTensorView q, ConstTensorView k, ConstTensorView v,
                      const AttentionOptions& options, ConstTensorView d_out,
                      const AttentionGradients& gradients) {
  if (!v.given()) refuse(operation, "value is not given");
  Layout layout = check_attention(operation, q, k, v, options);
  Dims out_shape = q.shape();
  out_shape[out_shape.rank() - 1] = layout.dv;
  require_shape(operation, {"d_out", d_out}, out_shape);
  if (gradients.bias.given() && !options.bias.given()) refuse(operation, "a gradient of bias without a bias");
  if (gradients.alibi_slopes.given() && options.alibi_slopes.empty()) {
    refuse(operation, "a gradient of alibi_slopes without slopes");
  }
  if (gradients.sinks.given() && options.sinks.empty()) {
    refuse(operation, "a gradient of sinks without sinks");
  }

  const NamedView wanted[] = {{"d_q", gradients.q},
                              {"d_k", gradients.k},
                              {"d_v", gradients.v},
                              {"d_bias", gradients.bias},
                              {"d_alibi_slopes", gradients.alibi_slopes},
                              {"d_sinks", gradients.sinks}};
  const Dims per_head{layout.query_heads};
  const Dims* const shapes[] = {&q.shape(), &k.shape(), &v.shape(), &options.bias.shape(),
                                &per_head,  &per_head};
  for (const NamedView* a = std::begin(wanted); a != std::end(wanted); ++a) {
    if (!a->view.given()) continue;
    require_shape(operation, *a, *shapes[a - std::begin(wanted)]);
    require_writable(operation, *a, {});
    for (const NamedView* b = std::begin(wanted); b != a; ++b) require_writable(operation, *a, {*b});
  }
  return layout;
}

}  // namespace

void reference::attention_backward(ConstTensorView q, ConstTensorView k, ConstTensorView v,
                                   const AttentionOptions& options, ConstTensorView d_out,
                                   const AttentionGradients& gradients) {
  const char* const operation = "reference::attention_backward";
  const Layout layout = check_backward(operation, q, k, v, options, d_out, gradients);
  require_host(operation, backward_operands(q, k, v, options, {}, {}, d_out, gradients));
  Accumulator d_q(gradients.q);
  Accumulator d_k(gradients.k);
  Accumulator d_v(gradients.v);
  Accumulator d_bias(gradients.bias);
  Accumulator d_slopes(gradients.alibi_slopes);
  Accumulator d_sinks(gradients.sinks);

  const Problem<double> problem(layout, q, k, v, options);
  const StagedInput<double> staged_d_out(d_out);
  const Placement d_out_place(staged_d_out, layout.packed);
  const auto place = [&](const Accumulator& sum) {
    return sum.wanted() ? Placement(sum, layout.packed) : Placement();
  };
  const Placement q_place = place(d_q), k_place = place(d_k), v_place = place(d_v);
  const BroadcastStrides bias_strides =
      d_bias.wanted() ? BroadcastStrides(d_bias.view()) : BroadcastStrides();
  Tensor scratch(DType::f64, {kernels::scratch_size_backward_reference(layout.longest_keys)});

  for (std::int64_t s = 0; s < static_cast<std::int64_t>(layout.sequences.size()); ++s) {
    const SequenceLayout& at = problem.sequence(s);
    for (std::int64_t h = 0; h < layout.query_heads; ++h) {
      const std::int64_t key_head = problem.key_head(h);
      kernels::HeadGradients head;
      head.q = d_q.at(q_place.offset(s, at.query_begin, h));
      head.k = d_k.at(k_place.offset(s, at.key_begin, key_head));
      head.v = d_v.at(v_place.offset(s, at.key_begin, key_head));
      head.q_stride = q_place.row_stride;
      head.k_stride = k_place.row_stride;
      head.v_stride = layout.dv == 0 ? 0 : v_place.row_stride;
      head.bias = d_bias.at(s * bias_strides.sequence + h * bias_strides.head);
      head.bias_query_stride = bias_strides.query;
      head.bias_key_stride = bias_strides.key;
      head.alibi_slope = d_slopes.at(h);
      head.sink = d_sinks.at(h);
      constexpr std::int64_t kRows = 16;
      for (std::int64_t first = 0; first < at.queries; first += kRows) {
        interruption_point();
        kernels::attention_backward_reference(problem.head(s, h), first, std::min(first + kRows, at.queries),
                                              staged_d_out.at(d_out_place.offset(s, at.query_begin, h)),
                                              layout.dv == 0 ? 0 : d_out_place.row_stride, head,
                                              scratch.values<double>().data());
      }
    }
  }
  for (const Accumulator* sum : {&d_q, &d_k, &d_v, &d_bias, &d_slopes, &d_sinks}) sum->deliver();
}

void attention_backward(ConstTensorView q, ConstTensorView k, ConstTensorView v,
                        const AttentionOptions& options, ConstTensorView out, ConstRowStateView row_state,
                        ConstTensorView d_out, const AttentionGradients& gradients) {
  const char* const operation = "attention_backward";
  const Layout layout = check_backward(operation, q, k, v, options, d_out, gradients);
  const DType computes_in = computing_type(q.dtype());
  const auto require_type = [&](const char* name, ConstTensorView view, DType usual) {
    if (!view.given() || view.dtype() == usual || view.dtype() == computes_in) return;
    refuse(operation, name, " is ", name_of(view.dtype()), ", expected ", name_of(usual),
           usual == computes_in ? "" : " or ", usual == computes_in ? "" : name_of(computes_in));
  };
  const Dims state_shape = q.shape().without(q.rank() - 1);
  const NamedView left[] = {
      {"out", out}, {"row_state.max", row_state.max}, {"row_state.sum", row_state.sum}, {"d_out", d_out}};
  require_shape(operation, left[0], d_out.shape());
  require_shape(operation, left[1], state_shape);
  require_shape(operation, left[2], state_shape);
  require_type("out", out, q.dtype());
  require_type("d_out", d_out, q.dtype());
  require_type("row_state.max", row_state.max, computes_in);
  require_type("row_state.sum", row_state.sum, computes_in);
  require_type("d_q", gradients.q, q.dtype());
  require_type("d_k", gradients.k, q.dtype());
  require_type("d_v", gradients.v, q.dtype());
  require_type("d_bias", gradients.bias, options.bias.dtype());
  require_type("d_alibi_slopes", gradients.alibi_slopes, DType::f64);
  require_type("d_sinks", gradients.sinks, DType::f64);
  const NamedView inputs[] = {
      {"query", q}, {"key", k}, {"value", v}, {"mask", options.mask}, {"bias", options.bias}, left[0],
      left[1],      left[2],    left[3]};
  for (const NamedView& target :
       {NamedView{"d_q", gradients.q}, NamedView{"d_k", gradients.k}, NamedView{"d_v", gradients.v},
        NamedView{"d_bias", gradients.bias}, NamedView{"d_alibi_slopes", gradients.alibi_slopes},
        NamedView{"d_sinks", gradients.sinks}}) {
    for (const NamedView& input : inputs) require_writable(operation, target, {input});
  }
  on_device(operation, &Operations::attention_backward,
            backward_operands(q, k, v, options, out, row_state, d_out, gradients))(
      layout, q, k, v, options, out, row_state, d_out, gradients);
}

void host::attention_backward(const Layout& layout, ConstTensorView q, ConstTensorView k, ConstTensorView v,
                              const AttentionOptions& options, ConstTensorView out,
                              const ConstRowStateView& row_state, ConstTensorView d_out,
                              const AttentionGradients& gradients) {
  if (q.dtype() == DType::f64) {
    reference::attention_backward(q, k, v, options, d_out, gradients);
  } else {
    backward_fused(layout, q, k, v, options, out, row_state, d_out, gradients);
  }
}

}  // namespace attend
