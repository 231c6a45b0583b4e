// The host's kernels for an attention call, best first, the reference last. A new kernel is one more row.
#pragma once

#include <attend/attention.h>

#include <span>

#include "attention/layout.h"
#include "attention/on_demand.h"

namespace attend::detail {

struct AttentionKernel {
  KernelChoice choice;
  bool (*supports)(DType query, const Layout& layout);
  // Looks at the sequence's own lengths only, never at the batch around it.
  bool (*takes)(const SequenceLayout& sequence, const AttentionOptions& options);
  void (*forward)(const Layout& layout, ConstTensorView q, ConstTensorView k, ConstTensorView v,
                  const AttentionOptions& options, TensorView out, RowStateView row_state);
  RowsFunction* rows;
  SummarizeFunction* summarize;
  DType computes_in;
};

std::span<const AttentionKernel> attention_kernels() noexcept;
const AttentionKernel& reference_kernel() noexcept;

// The best one for a sequence; the best of those that take any sequence; and the one for all sequences of a
// call, null when they differ.
const AttentionKernel& pick_attention_kernel(DType query, const Layout& layout,
                                             const SequenceLayout& sequence, const AttentionOptions& options);
const AttentionKernel& pick_any_sequence_kernel(DType query, const Layout& layout);
const AttentionKernel* pick_attention_kernel(DType query, const Layout& layout,
                                             const AttentionOptions& options);

}  // namespace attend::detail
