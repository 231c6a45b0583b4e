// Backward around a ring: with the row state of all keys every block gives its share of the gradients by
// itself. Those of queries stay here; those of keys and values go around with their block, and come home
// complete.
#include <algorithm>

#include "base/error.h"
#include "spread/circle.h"
#include "spread/sums.h"
#include "spread/ways.h"

namespace attend::spread {
namespace {

class RingBackward {
 public:
  RingBackward(const Call& call, ConstTensorView out, ConstRowStateView row_state, ConstTensorView d_out,
               const AttentionGradients& gradients)
      : call_(call),
        out_(out),
        d_out_(d_out),
        state_(row_state),
        gradients_(gradients),
        sums_(call, call.key_heads(), {call.k.size(3), call.v.size(3)}),
        heads_(static_cast<std::size_t>(call.query_heads())) {
    if (gradients.q.given()) {
      d_q_ = Tensor(DType::f32, call.q.shape());
      part_q_ = Tensor(DType::f32, call.q.shape());
    }
  }

  void add(int step, int source, ConstTensorView k, ConstTensorView v) {
    Tensor d_k(DType::f32, k.shape()), d_v(DType::f32, v.shape());
    Tensor part_k(DType::f32, k.shape()), part_v(DType::f32, v.shape());
    for (const QueryBlock& keys : Call::blocks_of(call_.keys, source)) {
      for (const QueryBlock& block : call_.own_queries()) {
        const bool first = step == 0 && keys.at == 0;  // a sink's gradient needs no keys, and is wanted once
        if (!call_.meet(block, keys.chunk) && !first) continue;
        const AttentionOptions options = call_.options_of(block, keys.chunk, first);
        AttentionGradients part{.k = keys.of(part_k.view()), .v = keys.of(part_v.view())};
        if (gradients_.q.given()) part.q = block.of(part_q_.view());
        Tensor slopes(DType::f64, {call_.query_heads()}), sinks(DType::f64, {call_.query_heads()});
        if (gradients_.alibi_slopes.given()) part.alibi_slopes = slopes;
        if (gradients_.sinks.given() && first) part.sinks = sinks;
        attention_backward(block.of(call_.q), keys.of(k), keys.of(v), options, block.of(out_),
                           {block.of(state_.max), block.of(state_.sum)}, block.of(d_out_), part);
        if (gradients_.q.given()) add_rows<float>(part.q, block.of(d_q_.view()));
        add_rows<float>(part.k, keys.of(d_k.view()));
        add_rows<float>(part.v, keys.of(d_v.view()));
        add_heads(slopes, slopes_);
        add_heads(sinks, sinks_);
      }
    }
    sums_.add(step, {d_k.view(), d_v.view()});
  }

  void deliver() {
    const std::vector<TensorView> home = sums_.home();
    if (gradients_.q.given()) copy(d_q_, gradients_.q);
    if (gradients_.k.given()) copy(home[0], gradients_.k);
    if (gradients_.v.given()) copy(home[1], gradients_.v);
    deliver_heads(slopes_, gradients_.alibi_slopes);
    deliver_heads(sinks_, gradients_.sinks);
  }

 private:
  using PerHead = std::vector<double>;

  void add_heads(const Tensor& part, PerHead& sums) const {
    sums.resize(heads_);
    for (std::size_t h = 0; h < heads_; ++h) sums[h] += part.values<double>()[h];
  }
  void deliver_heads(PerHead& sums, TensorView to) const {
    if (!to.given()) return;
    sums.resize(heads_);
    add_over_processes(call_.processes, sums);
    copy(ConstTensorView(sums.data(), Dims{call_.query_heads()}), to);
  }

  const Call& call_;
  ConstTensorView out_, d_out_;
  ConstRowStateView state_;
  const AttentionGradients& gradients_;
  SumsAround<float> sums_;
  Tensor d_q_, part_q_;
  std::size_t heads_;
  PerHead slopes_, sinks_;
};

}  // namespace

void ring_backward(const Call& call, ConstTensorView out, ConstRowStateView row_state, ConstTensorView d_out,
                   const AttentionGradients& gradients) {
  // In f64 the gradients come from the reference, which makes the row state of the keys that it sees.
  if (call.q.dtype() == DType::f64)
    refuse(call.operation, "there are no gradients of f64 around a ring; by heads there are");
  RingBackward backward(call, out, row_state, d_out, gradients);
  Circle circle(call, {call.k, call.v});
  int step = 0;
  circle.run([&](int source, const std::vector<ConstTensorView>& block) {
    backward.add(step++, source, block[0], block[1]);
  });
  backward.deliver();
}

}  // namespace attend::spread
