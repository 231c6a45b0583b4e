// The kernels that can carry out an attention call, best first, the reference last. A new kernel or device is
// one more row.
#pragma once

#include <attend/attention.h>

#include <span>

#include "attention/layout.h"

namespace attend {

struct AttentionKernel {
  KernelChoice choice;
  bool (*supports)(DType query);
  void (*forward)(const Layout& layout, ConstTensorView q, ConstTensorView k, ConstTensorView v,
                  const AttentionOptions& options, TensorView out, RowStateView row_state);
  // Fills rows of one stage, in the order of the lists; out is (sequences, heads, rows, longest keys).
  void (*rows)(const Layout& layout, ConstTensorView q, ConstTensorView k, const AttentionOptions& options,
               Stage stage, const RowSelection& selection, TensorView out);
  DType computes_in;
};

std::span<const AttentionKernel> attention_kernels() noexcept;
const AttentionKernel& pick_attention_kernel(DType query) noexcept;
const AttentionKernel& reference_kernel() noexcept;

}  // namespace attend
