// The gradients of a case, computed on the GPU from what the host's forward pass left, and brought back.
#pragma once

#include <attend/attention_backward.h>

#include "cuda/on_gpu.h"
#include "support/gradient_set.h"

namespace attend {

// Where the forward pass ran: on the host its output has no rounding but that of f32, so that what is
// compared is the backward pass alone.
enum class ForwardOn { host, gpu };

inline GradientSet gpu_gradients(const AttentionInputs& in, const Tensor& d_out, DType dtype = DType::f32,
                                 ForwardOn forward = ForwardOn::host) {
  const GpuInputs there(in);
  RowState state(there.q);
  Tensor out = there.output(DType::f32);
  if (forward == ForwardOn::gpu) {
    attention(there.q, there.k, there.v, there.options, out, state);
  } else {
    RowState here(in.q);
    Tensor here_out = in.output(DType::f32);
    AttentionOptions exact = in.options;
    exact.precision = Precision::f32;
    attention(in.q, in.k, in.v, exact, here_out, here);
    copy(here_out, out);
    copy(here.max, state.max);
    copy(here.sum, state.sum);
  }
  const Tensor d_out_there = to_gpu(d_out);
  GradientSet set(in, dtype, DType::f32);
  AttentionGradients views;
  Tensor moved[6];
  Tensor* const here[6] = {&set.q, &set.k, &set.v, &set.bias, &set.slopes, &set.sinks};
  TensorView* const wanted[6] = {&views.q,    &views.k, &views.v, &views.bias, &views.alibi_slopes,
                                 &views.sinks};
  const bool given[6] = {
      true, true, true, set.views.bias.given(), set.views.alibi_slopes.given(), set.views.sinks.given()};
  for (int i = 0; i < 6; ++i) {
    if (!given[i]) continue;
    moved[i] = to_gpu(*here[i]);  // with what is no gradient, since gradients are written and not added to
    *wanted[i] = moved[i];
  }
  attention_backward(there.q, there.k, there.v, there.options, out, state, d_out_there, views);
  for (int i = 0; i < 6; ++i) {
    if (given[i]) copy(moved[i], *here[i]);
  }
  return set;
}

}  // namespace attend
