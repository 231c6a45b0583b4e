// The kernels that can carry out an attention call, best first, the reference last. A new kernel or device is
// one more row.
#pragma once

#include <attend/attention.h>

#include <span>

#include "attention/layout.h"
#include "attention/on_demand.h"

namespace attend {

struct AttentionKernel {
  KernelChoice choice;
  bool (*supports)(DType query);
  void (*forward)(const Layout& layout, ConstTensorView q, ConstTensorView k, ConstTensorView v,
                  const AttentionOptions& options, TensorView out, RowStateView row_state);
  RowsFunction* rows;
  SummarizeFunction* summarize;
  DType computes_in;
};

std::span<const AttentionKernel> attention_kernels() noexcept;
const AttentionKernel& pick_attention_kernel(DType query) noexcept;
const AttentionKernel& reference_kernel() noexcept;

}  // namespace attend
