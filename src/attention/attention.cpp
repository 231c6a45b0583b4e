#include <attend/attention.h>
#include <attend/reference_attention.h>

#include <algorithm>

#include "attention/kernels.h"
#include "attention/operands.h"
#include "base/error.h"
#include "base/operations.h"

namespace attend {
namespace {

Dims output_shape(ConstTensorView q, const Layout& layout) {
  Dims shape = q.shape();
  shape[shape.rank() - 1] = layout.dv;
  return shape;
}

void check_outputs(const char* operation, const Layout& layout, ConstTensorView q, ConstTensorView k,
                   ConstTensorView v, const AttentionOptions& options, TensorView out,
                   RowStateView row_state) {
  require_shape(operation, {"out", out}, output_shape(q, layout));
  require_writable(operation, {"out", out},
                   {{"query", q}, {"key", k}, {"value", v}, {"mask", options.mask}, {"bias", options.bias}});
  check_row_state(
      operation, row_state, q.shape().without(q.rank() - 1),
      {{"query", q}, {"key", k}, {"value", v}, {"mask", options.mask}, {"bias", options.bias}, {"out", out}});
}

std::int64_t count_of(const Indices& indices, const char* name, std::int64_t size) {
  if (indices.is_all()) return size;
  for (const std::int64_t index : indices.list()) {
    if (index < 0 || index >= size) {
      refuse("attention_rows", name, " ", index, " is out of range, there are ", size);
    }
  }
  return static_cast<std::int64_t>(indices.list().size());
}

// Rows that every chosen sequence has.
std::int64_t common_queries(const Layout& layout, const Indices& sequences) {
  std::int64_t shortest = layout.longest_queries;
  const auto look = [&](const SequenceLayout& sequence) { shortest = std::min(shortest, sequence.queries); };
  if (sequences.is_all()) {
    for (const SequenceLayout& sequence : layout.sequences) look(sequence);
  } else {
    for (const std::int64_t s : sequences.list()) look(layout.sequences[static_cast<std::size_t>(s)]);
  }
  return shortest;
}

// An empty tensor for the rows that are wanted.
Tensor rows_wanted(const Layout& layout, ConstTensorView q, DType computes_in, const RowSelection& selection,
                   ConstRowStateView row_state) {
  check_given_row_state("attention_rows", row_state, q, computes_in);
  const std::int64_t sequences =
      count_of(selection.sequences, "sequence", static_cast<std::int64_t>(layout.sequences.size()));
  const std::int64_t heads = count_of(selection.heads, "head", layout.query_heads);
  const std::int64_t queries = count_of(selection.rows, "row", common_queries(layout, selection.sequences));
  return Tensor(computes_in, {sequences, heads, queries, layout.longest_keys}, q.device());
}

}  // namespace

RowState::RowState(ConstTensorView q)
    : max(computing_type(q.dtype()), q.shape().without(q.rank() - 1), q.device()),
      sum(max.dtype(), max.shape(), q.device()) {}

void attention(ConstTensorView q, ConstTensorView k, ConstTensorView v, const AttentionOptions& options,
               TensorView out, RowStateView row_state) {
  const char* const operation = "attention";
  if (!v.given()) refuse(operation, "value is not given");
  run_attention(operation, check_attention(operation, q, k, v, options), q, k, v, options, out, row_state);
}

void detail::run_attention(const char* operation, const Layout& layout, ConstTensorView q, ConstTensorView k,
                           ConstTensorView v, const AttentionOptions& options, TensorView out,
                           RowStateView row_state) {
  const DType computes_in = computing_type(q.dtype());
  if (out.given() && out.dtype() != q.dtype() && out.dtype() != computes_in) {
    refuse(operation, "out is ", name_of(out.dtype()), ", expected ", name_of(q.dtype()),
           q.dtype() == computes_in ? "" : " or f32");
  }
  for (const TensorView& state : {row_state.max, row_state.sum}) {
    if (state.given() && state.dtype() != computes_in) {
      refuse(operation, "row_state is ", name_of(state.dtype()), ", expected ", name_of(computes_in));
    }
  }
  check_outputs(operation, layout, q, k, v, options, out, row_state);
  on_device(operation, &Operations::attention,
            attention_operands(q, k, v, options, out, {row_state.max, row_state.sum}))(
      layout, q, k, v, options, out, row_state);
}

Tensor attention(ConstTensorView q, ConstTensorView k, ConstTensorView v, const AttentionOptions& options) {
  const char* const operation = "attention";
  if (!v.given()) refuse(operation, "value is not given");
  const Layout layout = check_attention(operation, q, k, v, options);
  const auto run = on_device(operation, &Operations::attention, attention_operands(q, k, v, options));
  Tensor out(q.dtype(), output_shape(q, layout), q.device());
  run(layout, q, k, v, options, out, {});
  return out;
}

KernelChoice attention_kernel(ConstTensorView q, ConstTensorView k, const AttentionOptions& options) {
  const char* const operation = "attention_kernel";
  const Layout layout = check_attention(operation, q, k, {}, options);
  return on_device(operation, &Operations::attention_kernel, {{"query", q}, {"key", k}})(layout, q.dtype(),
                                                                                         options);
}

Tensor attention_rows(ConstTensorView q, ConstTensorView k, const AttentionOptions& options, Stage stage,
                      const RowSelection& selection, ConstRowStateView row_state) {
  const char* const operation = "attention_rows";
  const Layout layout = check_attention(operation, q, k, {}, options);
  const auto run =
      on_device(operation, &Operations::attention_rows, attention_operands(q, k, {}, options, {}, row_state));
  Tensor out = rows_wanted(layout, q, computing_type(q.dtype()), selection, row_state);
  run(layout, q, k, options, stage, selection, row_state, out);
  return out;
}

void reference::attention(ConstTensorView q, ConstTensorView k, ConstTensorView v,
                          const AttentionOptions& options, TensorView out, RowStateView row_state) {
  const char* const operation = "reference::attention";
  if (!v.given()) refuse(operation, "value is not given");
  const Layout layout = check_attention(operation, q, k, v, options);
  check_outputs(operation, layout, q, k, v, options, out, row_state);
  require_host(operation, attention_operands(q, k, v, options, out, {row_state.max, row_state.sum}));
  reference_kernel().forward(layout, q, k, v, options, out, row_state);
}

Tensor reference::attention_rows(ConstTensorView q, ConstTensorView k, const AttentionOptions& options,
                                 Stage stage, const RowSelection& selection) {
  const char* const operation = "attention_rows";
  const Layout layout = check_attention(operation, q, k, {}, options);
  require_host(operation, attention_operands(q, k, {}, options));
  Tensor out = rows_wanted(layout, q, DType::f64, selection, {});
  reference_kernel().rows(layout, q, k, options, stage, selection, {}, out);
  return out;
}

std::string_view name_of(Stage stage) noexcept {
  switch (stage) {
    case Stage::scores:
      return "scores";
    case Stage::capped:
      return "capped";
    case Stage::biased:
      return "biased";
    case Stage::weights:
      return "weights";
  }
  return "unknown";
}

}  // namespace attend
