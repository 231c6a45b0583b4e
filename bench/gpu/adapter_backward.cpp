// attention_backward() on tensors that somebody else has on a GPU, for bench.py: as adapter.cpp.
#include <attend/attention_backward.h>

#include <cstdint>
#include <exception>
#include <string>

namespace {

using namespace attend;

std::string backward_error;
constexpr Device kBackwardGpu{DeviceKind::cuda, 0};

}  // namespace

extern "C" {

// q, out, d_out and d_q (b, h, n, d), k, v, d_k and d_v (b, key_heads, n, d), all dense and of one 16-bit
// type; max and sum (b, h, n) of f32. A window of 0 is none.
struct GpuBackwardCall {
  std::int64_t b, h, key_heads, n, d;
  std::int32_t is_f16, causal;
  std::int64_t window;
  const void *q, *k, *v, *out, *max, *sum, *d_out;
  void *d_q, *d_k, *d_v;
};

const char* gpu_backward_error() { return backward_error.c_str(); }

int gpu_attention_backward(const GpuBackwardCall* call) {
  try {
    const DType type = call->is_f16 != 0 ? DType::f16 : DType::bf16;
    const Dims query{call->b, call->h, call->n, call->d}, key{call->b, call->key_heads, call->n, call->d},
        rows{call->b, call->h, call->n};
    const auto in = [](const void* data, DType dtype, const Dims& shape) {
      return ConstTensorView(data, dtype, shape, row_major_strides(shape), kBackwardGpu);
    };
    const auto out = [](void* data, DType dtype, const Dims& shape) {
      return TensorView(data, dtype, shape, row_major_strides(shape), kBackwardGpu);
    };
    AttentionOptions options;
    options.causal = call->causal != 0;
    if (call->window > 0) options.window = {call->window, call->causal != 0 ? -1 : call->window};
    attention_backward(
        in(call->q, type, query), in(call->k, type, key), in(call->v, type, key), options,
        in(call->out, type, query),
        ConstRowStateView{in(call->max, DType::f32, rows), in(call->sum, DType::f32, rows)},
        in(call->d_out, type, query),
        {.q = out(call->d_q, type, query), .k = out(call->d_k, type, key), .v = out(call->d_v, type, key)});
    return 0;
  } catch (const std::exception& error) {
    backward_error = error.what();
    return 1;
  }
}

}  // extern "C"
