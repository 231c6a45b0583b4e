// The float64 backward pass of attention. One thread: key heads are shared by query heads and a bias by whole
// batches, and the order in which their gradients are added is then always the same.
#include <attend/reference.h>

#include <iterator>

#include "attention/problem.h"
#include "base/error.h"
#include "kernels/attention/attention_backward_reference.h"

namespace attend {
namespace {

// A gradient that is added up in float64 and delivered once, into whatever the caller has.
class Accumulator {
 public:
  Accumulator(const char* operation, const char* name, TensorView target, const Dims& shape)
      : target_(target) {
    if (!target.given()) return;
    require_shape(operation, {name, target}, shape);
    require_writable(operation, {name, target}, {});
    sum_ = Tensor(DType::f64, shape);
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

}  // namespace

void reference::attention_backward(ConstTensorView q, ConstTensorView k, ConstTensorView v,
                                   const AttentionOptions& options, ConstTensorView d_out,
                                   const AttentionGradients& gradients) {
  const char* const operation = "reference::attention_backward";
  if (!v.given()) refuse(operation, "value is not given");
  const Layout layout = check_attention(operation, q, k, v, options);
  Dims out_shape = q.shape();
  out_shape[out_shape.rank() - 1] = layout.dv;
  require_shape(operation, {"d_out", d_out}, out_shape);
  if (gradients.bias.given() && !options.bias.given()) refuse(operation, "a gradient of bias without a bias");
  if (gradients.alibi_slopes.given() && options.alibi_slopes.empty()) {
    refuse(operation, "a gradient of alibi_slopes without slopes");
  }
  if (gradients.sinks.given() && options.sinks.empty())
    refuse(operation, "a gradient of sinks without sinks");

  const NamedView wanted[] = {{"d_q", gradients.q},
                              {"d_k", gradients.k},
                              {"d_v", gradients.v},
                              {"d_bias", gradients.bias},
                              {"d_alibi_slopes", gradients.alibi_slopes},
                              {"d_sinks", gradients.sinks}};
  for (const NamedView* a = std::begin(wanted); a != std::end(wanted); ++a) {
    for (const NamedView* b = std::begin(wanted); b != a; ++b) require_writable(operation, *a, {*b});
  }
  Accumulator d_q(operation, "d_q", gradients.q, q.shape());
  Accumulator d_k(operation, "d_k", gradients.k, k.shape());
  Accumulator d_v(operation, "d_v", gradients.v, v.shape());
  Accumulator d_bias(operation, "d_bias", gradients.bias, options.bias.shape());
  Accumulator d_slopes(operation, "d_alibi_slopes", gradients.alibi_slopes, {layout.query_heads});
  Accumulator d_sinks(operation, "d_sinks", gradients.sinks, {layout.query_heads});

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
      kernels::attention_backward_reference(problem.head(s, h),
                                            staged_d_out.at(d_out_place.offset(s, at.query_begin, h)),
                                            d_out_place.row_stride, head, scratch.values<double>().data());
    }
  }
  for (const Accumulator* sum : {&d_q, &d_k, &d_v, &d_bias, &d_slopes, &d_sinks}) sum->deliver();
}

}  // namespace attend
