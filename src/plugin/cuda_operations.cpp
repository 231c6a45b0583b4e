// The row of operations of CUDA devices: memory by this file, everything else by the plugin. What it does not
// have is null, and refused by name.
#include "base/operations.h"

#include <attend/attention.h>
#include <attend/attention_backward.h>
#include <attend/weights.h>

#include "base/error.h"
#include "base/host_memory.h"
#include "plugin/cuda_views.h"

namespace attend {
namespace {

const plugin::Table& table() { return *cuda_library().table; }

void* allocate_on_cuda(Device device, std::size_t bytes) {
  void* memory = nullptr;
  const int code = table().allocate(place_of(device), bytes, &memory);
  if (code != plugin::kNoMemory) require_done("tensor", code);
  return memory;
}

void free_on_cuda(Device device, void* memory) noexcept { table().release(place_of(device), memory); }

bool is_dense(ConstTensorView view) {
  std::int64_t expected = 1;
  for (int axis = view.rank() - 1; axis >= 0; --axis) {
    if (view.size(axis) != 1 && view.stride(axis) != expected) return false;
    expected *= view.size(axis);
  }
  return true;
}

std::size_t bytes_of(ConstTensorView view) {
  return static_cast<std::size_t>(view.count()) * size_of(view.dtype());
}

std::int32_t index_or_host(Device device) { return device.is_host() ? plugin::kHost : device.index; }

// Between two memories, both dense and of one type.
void move_bytes(ConstTensorView from, TensorView to) {
  const Device device = to.device().is_host() ? from.device() : to.device();
  require_done("copy", table().copy_bytes(place_of(device), to.raw(), index_or_host(to.device()), from.raw(),
                                          index_or_host(from.device()), bytes_of(from)));
}

// Types are converted and strides are followed on the side that has them; what goes between is dense.
void copy_with_cuda(ConstTensorView from, TensorView to) {
  if (from.device() == to.device()) {
    require_done("copy", table().copy(place_of(to.device()), plugin_view(from), plugin_view(to)));
    return;
  }
  if (from.dtype() != to.dtype() || from.dtype() == DType::boolean || !is_dense(from)) {
    Tensor dense(to.dtype(), from.shape(), from.device());
    copy(from, dense);
    if (is_dense(to)) return move_bytes(dense, to);
    Tensor there(to.dtype(), from.shape(), to.device());
    move_bytes(dense, there);
    return copy(there, to);
  }
  if (is_dense(to)) return move_bytes(from, to);
  Tensor there(to.dtype(), from.shape(), to.device());
  move_bytes(from, there);
  copy(there, to);
}

void synchronize_on_cuda(Device device) {
  require_done("synchronize", table().synchronize(place_of(device)));
}

void wait_on_cuda(Device device, void* other) {
  require_done("wait_for_stream", table().wait_for_stream(place_of(device), other));
}

void fill_on_cuda(TensorView out, double value) {
  require_done("fill", table().fill(place_of(out.device()), plugin_view(out), value));
}

KernelChoice attention_kernel_on_cuda(const Layout& layout, DType query, const AttentionOptions& options) {
  // Only type and sizes decide, so views of nothing will do.
  PluginAttention made(layout, {}, {}, {}, options);
  plugin::Attention call = made.call();
  call.q.number = call.k.number = call.v.number = static_cast<plugin::Number>(query);
  const char* name = "";
  const char* why = "";
  table().attention_kernel({}, call, &name, &why);
  return {name, why};
}

void attention_on_cuda(const Layout& layout, ConstTensorView q, ConstTensorView k, ConstTensorView v,
                       const AttentionOptions& options, TensorView out, const RowStateView& row_state) {
  const PluginAttention made(layout, q, k, v, options);
  require_done("attention", table().attention(place_of(q.device()), made.call(), plugin_view(out),
                                              plugin_state({row_state.max, row_state.sum})));
}

plugin::Indices plugin_indices(const Indices& indices) {
  if (indices.is_all()) return {};
  return {indices.list().data(), static_cast<std::int64_t>(indices.list().size())};
}

void attention_rows_on_cuda(const Layout& layout, ConstTensorView q, ConstTensorView k,
                            const AttentionOptions& options, Stage stage, const RowSelection& selection,
                            const ConstRowStateView& row_state, TensorView out) {
  const PluginAttention made(layout, q, k, {}, options);
  plugin::Rows rows;
  rows.stage = static_cast<std::int32_t>(stage);
  rows.sequences = plugin_indices(selection.sequences);
  rows.heads = plugin_indices(selection.heads);
  rows.rows = plugin_indices(selection.rows);
  rows.out = plugin_view(out);
  require_done("attention_rows",
               table().attention_rows(place_of(q.device()), made.call(), plugin_state(row_state), rows));
}

void summarize_on_cuda(const Layout& layout, ConstTensorView q, ConstTensorView k,
                       const AttentionOptions& options, const WeightsRequest& request,
                       const ConstRowStateView& row_state, WeightsSummary& summary) {
  const PluginAttention made(layout, q, k, {}, options);
  plugin::Summary wanted;
  wanted.top_keys = plugin_view(summary.top_keys);
  wanted.top_weights = plugin_view(summary.top_weights);
  wanted.received = plugin_view(summary.received);
  wanted.entropy = plugin_view(summary.entropy);
  wanted.map = plugin_view(summary.map);
  wanted.top_k = request.top_k;
  wanted.map_rows = request.map_rows;
  wanted.map_columns = request.map_columns;
  wanted.map_is_max = request.map_reduction == MapReduction::max ? 1 : 0;
  require_done("summarize_weights",
               table().summarize_weights(place_of(q.device()), made.call(), plugin_state(row_state), wanted));
}

void attention_backward_on_cuda(const Layout& layout, ConstTensorView q, ConstTensorView k, ConstTensorView v,
                                const AttentionOptions& options, ConstTensorView out,
                                const ConstRowStateView& row_state, ConstTensorView d_out,
                                const AttentionGradients& gradients) {
  const PluginAttention made(layout, q, k, v, options);
  const plugin::Gradients wanted{plugin_view(gradients.q),
                                 plugin_view(gradients.k),
                                 plugin_view(gradients.v),
                                 plugin_view(gradients.bias),
                                 plugin_view(gradients.alibi_slopes),
                                 plugin_view(gradients.sinks)};
  require_done("attention_backward",
               table().attention_backward(place_of(q.device()), made.call(), plugin_view(out),
                                          plugin_state(row_state), plugin_view(d_out), wanted));
}

void log_sum_exp_on_cuda(const ConstRowStateView& row_state, TensorView out) {
  require_done("log_sum_exp",
               table().log_sum_exp(place_of(out.device()), plugin_state(row_state), plugin_view(out)));
}

void merge_on_cuda(ConstTensorView out_a, const ConstRowStateView& state_a, ConstTensorView out_b,
                   const ConstRowStateView& state_b, TensorView out, const RowStateView& row_state) {
  require_done("merge_attention",
               table().merge_attention(place_of(out.device()), plugin_view(out_a), plugin_state(state_a),
                                       plugin_view(out_b), plugin_state(state_b), plugin_view(out),
                                       plugin_state({row_state.max, row_state.sum})));
}

constexpr Operations cuda_row() {
  Operations row{};
  row.allocate = allocate_on_cuda;
  row.free = free_on_cuda;
  row.copy = copy_with_cuda;
  row.fill = fill_on_cuda;
  row.synchronize = synchronize_on_cuda;
  row.wait_for_stream = wait_on_cuda;
  row.attention_kernel = attention_kernel_on_cuda;
  row.attention = attention_on_cuda;
  row.attention_rows = attention_rows_on_cuda;
  row.summarize_weights = summarize_on_cuda;
  row.attention_backward = attention_backward_on_cuda;
  row.log_sum_exp = log_sum_exp_on_cuda;
  row.merge_attention = merge_on_cuda;
  return row;
}

constinit const Operations kCudaOperations = cuda_row();

}  // namespace

const Operations* detail::cuda_operations(std::int32_t index) {
  return index < cuda_library().devices ? &kCudaOperations : nullptr;
}

std::string detail::why_not_cuda(std::int32_t index) {
  const CudaLibrary& library = cuda_library();
  if (library.devices == 0) return library.reason;
  return joined("there ", library.devices == 1 ? "is " : "are ", library.devices, ", counted from 0",
                index < 0 ? ", and none has a negative number" : "");
}

std::string detail::cuda_description(std::int32_t index) {
  char text[200] = "";
  if (index >= cuda_library().devices || table().describe(index, text, sizeof text) != 0) return "unknown";
  return text;
}

}  // namespace attend
