// attention() on tensors that somebody else has on a GPU, behind a C ABI: bench.py calls it through ctypes on
// PyTorch's memory, beside cuDNN, in one run.
#include <attend/attention.h>
#include <attend/weights.h>

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

namespace {

using namespace attend;

std::string last_error;
constexpr Device kGpu{DeviceKind::cuda, 0};

}  // namespace

extern "C" {

// q (b, h, n, d), k and v (b, key_heads, keys, d), all dense; mask (n, keys) and bias f32 (n, keys) or null.
// A window, softcap, slope and sink of 0 are none; a slope or sink is that of all heads.
struct GpuCall {
  std::int64_t b, h, key_heads, n, keys, d;
  std::int32_t type;  // 0 bf16, 1 f16, 2 f32
  std::int32_t causal;
  std::int64_t window;
  double softcap, slope, sink;
  const void *q, *k, *v, *mask, *bias;
  void *out, *max, *sum;
};

const char* gpu_error() { return last_error.c_str(); }

static AttentionOptions options_of(const GpuCall& call) {
  AttentionOptions options;
  options.causal = call.causal != 0;
  if (call.window > 0) options.window = {call.window, call.causal != 0 ? -1 : call.window};
  options.softcap = call.softcap;
  const auto heads = static_cast<std::size_t>(call.h);
  if (call.slope != 0) options.alibi_slopes.assign(heads, call.slope);
  if (call.sink != 0) options.sinks.assign(heads, call.sink);
  const Dims matrix{call.n, call.keys}, strides{call.keys, 1};
  if (call.mask != nullptr) options.mask = {call.mask, DType::boolean, matrix, strides, kGpu};
  if (call.bias != nullptr) options.bias = {call.bias, DType::f32, matrix, strides, kGpu};
  return options;
}

static ConstTensorView tensor_of(const GpuCall& call, const void* data, std::int64_t heads,
                                 std::int64_t rows) {
  const DType type = call.type == 0 ? DType::bf16 : call.type == 1 ? DType::f16 : DType::f32;
  const Dims shape{call.b, heads, rows, call.d};
  return {data, type, shape, row_major_strides(shape), kGpu};
}

// What is wanted of summarize_weights(), and where it is copied to: null only computes it.
struct GpuSummary {
  std::int64_t top_k, map_rows, map_columns;
  std::int32_t received, entropy;
  void *top_keys, *top_weights, *received_to, *entropy_to, *map_to;
};

// Of the row state in max and sum; of none where they are null.
int gpu_summarize(const GpuCall* call, const GpuSummary* wanted) {
  try {
    const Dims rows{call->b, call->h, call->n};
    ConstRowStateView state;
    if (call->max != nullptr) {
      state.max = {call->max, DType::f32, rows, row_major_strides(rows), kGpu};
      state.sum = {call->sum, DType::f32, rows, row_major_strides(rows), kGpu};
    }
    WeightsRequest request;
    request.top_k = wanted->top_k;
    request.received = wanted->received != 0;
    request.entropy = wanted->entropy != 0;
    request.map_rows = wanted->map_rows;
    request.map_columns = wanted->map_columns;
    const WeightsSummary summary = summarize_weights(tensor_of(*call, call->q, call->h, call->n),
                                                     tensor_of(*call, call->k, call->key_heads, call->keys),
                                                     options_of(*call), request, state);
    const auto take = [](const Tensor& from, void* to) {
      if (to != nullptr)
        copy(from, TensorView(to, from.dtype(), from.shape(), row_major_strides(from.shape()), kGpu));
    };
    take(summary.top_keys, wanted->top_keys);
    take(summary.top_weights, wanted->top_weights);
    take(summary.received, wanted->received_to);
    take(summary.entropy, wanted->entropy_to);
    take(summary.map, wanted->map_to);
    return 0;
  } catch (const std::exception& error) {
    last_error = error.what();
    return 1;
  }
}

int gpu_attention(const GpuCall* call) {
  try {
    const DType type = call->type == 0 ? DType::bf16 : call->type == 1 ? DType::f16 : DType::f32;
    const Dims out{call->b, call->h, call->n, call->d}, rows{call->b, call->h, call->n};
    RowStateView state;
    if (call->max != nullptr) {
      state.max = {call->max, DType::f32, rows, row_major_strides(rows), kGpu};
      state.sum = {call->sum, DType::f32, rows, row_major_strides(rows), kGpu};
    }
    attention(tensor_of(*call, call->q, call->h, call->n),
              tensor_of(*call, call->k, call->key_heads, call->keys),
              tensor_of(*call, call->v, call->key_heads, call->keys), options_of(*call),
              TensorView(call->out, type, out, row_major_strides(out), kGpu), state);
    return 0;
  } catch (const std::exception& error) {
    last_error = error.what();
    return 1;
  }
}

}  // extern "C"
