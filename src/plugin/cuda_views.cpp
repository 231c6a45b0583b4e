#include "plugin/cuda_views.h"

#include <attend/stream.h>

#include "base/error.h"

namespace attend {
namespace {

// A GPU's kernels compute in the numbers of the tensors they are given.
void check_precision(DType query, const AttentionOptions& options) {
  if (!options.precision) return;
  if (query == DType::f32 && *options.precision == Precision::f32) return;
  if (query == DType::bf16 && *options.precision == Precision::bf16) return;
  refuse("attention", "precision is ", name_of(*options.precision), ", but a GPU multiplies ", name_of(query),
         " tensors as ", name_of(query));
}

}  // namespace

plugin::Place detail::place_of(Device device) { return {device.index, current_stream(device)}; }

plugin::View detail::plugin_view(ConstTensorView view) {
  plugin::View result;
  result.data = view.given() && view.count() > 0 ? const_cast<void*>(view.raw()) : nullptr;
  result.number = static_cast<plugin::Number>(view.dtype());
  result.rank = view.rank();
  for (int axis = 0; axis < view.rank(); ++axis) {
    result.shape[axis] = view.size(axis);
    result.strides[axis] = view.stride(axis);
  }
  return result;
}

plugin::RowState detail::plugin_state(const ConstRowStateView& state) {
  return {plugin_view(state.max), plugin_view(state.sum)};
}

detail::PluginAttention::PluginAttention(const Layout& layout, ConstTensorView q, ConstTensorView k,
                                         ConstTensorView v, const AttentionOptions& options) {
  if (q.given()) check_precision(q.dtype(), options);
  for (const SequenceLayout& at : layout.sequences) {
    sequences_.push_back({at.query_begin, at.key_begin, at.queries, at.keys, at.key_count, at.query_offset});
  }
  call_.q = plugin_view(q);
  call_.k = plugin_view(k);
  call_.v = plugin_view(v);
  call_.mask = plugin_view(options.mask);
  call_.bias = plugin_view(options.bias);
  call_.packed = layout.packed ? 1 : 0;
  call_.causal = options.causal ? 1 : 0;
  call_.query_heads = layout.query_heads;
  call_.key_heads = layout.key_heads;
  call_.d = layout.d;
  call_.dv = layout.dv;
  call_.longest_queries = layout.longest_queries;
  call_.longest_keys = layout.longest_keys;
  call_.window_left = layout.window.left;
  call_.window_right = layout.window.right;
  call_.scale = layout.scale;
  call_.softcap = options.softcap;
  call_.dropout = options.dropout;
  call_.dropout_seed = options.dropout_seed;
  call_.sequences = sequences_.data();
  call_.sequence_count = static_cast<std::int64_t>(sequences_.size());
  call_.alibi_slopes = options.alibi_slopes.empty() ? nullptr : options.alibi_slopes.data();
  call_.sinks = options.sinks.empty() ? nullptr : options.sinks.data();
}

void detail::require_done(const char* operation, int code) {
  if (code == 0) return;
  const char* const reason = cuda_library().table->last_error();
  if (code == plugin::kNoMemory) throw NoMemory(joined('[', operation, "] ", reason));
  refuse(operation, reason);
}

}  // namespace attend
