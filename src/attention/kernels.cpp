#include "attention/kernels.h"

#include "attention/decode.h"
#include "attention/forward_bf16.h"
#include "attention/host_operations.h"
#include "attention/int8_rows.h"
#include "attention/outputs.h"
#include "attention/problem.h"
#include "attention/row_shares.h"
#include "base/parallel.h"
#include "base/scratch.h"
#include "kernels/attention/attention_fused.h"
#include "kernels/attention/attention_reference.h"
#include "kernels/isa.h"

namespace attend {
namespace {

// What the drivers below need of a kernel's arithmetic.
struct FusedF32 {
  using Number = float;
  static RowGrain grain(const Layout& layout) {
    kernels::require_isa();
    // Half of the smallest second-level cache that is about. A head beyond it is fetched anew for each block,
    // from a cache that many cores share.
    constexpr std::int64_t kNear = std::int64_t{1} << 19;
    const std::int64_t bytes = layout.longest_keys * (layout.d + layout.dv) * 4;
    const std::int64_t group = kernels::fused_group_queries();
    return {group, kernels::fused_tile_queries() / group, bytes > kNear ? kernels::kFusedTiles : 1, 24,
            1 << 18};
  }
  static std::int64_t scratch(const Layout& layout) {
    return kernels::scratch_size_fused(layout.d, layout.dv);
  }
  static constexpr auto forward = kernels::attention_fused;
};

struct ReferenceF64 {
  using Number = double;
  static RowGrain grain(const Layout&) { return {16, 1, 1, 1, 1 << 13}; }
  static std::int64_t scratch(const Layout& layout) {
    return kernels::scratch_size_reference(layout.longest_keys);
  }
  static constexpr auto forward = kernels::attention_reference;
};

template <class Kernel>
void forward(const Layout& layout, ConstTensorView q, ConstTensorView k, ConstTensorView v,
             const AttentionOptions& options, TensorView out, RowStateView row_state) {
  using T = typename Kernel::Number;
  const RowShares shares(layout, options.causal, Kernel::grain(layout));
  if (shares.count() == 0) return;
  const Problem<T> problem(layout, q, k, v, options);
  const Outputs<T> outputs(layout, out, row_state);
  const LaneScratch<T> scratch(shares.lanes(), Kernel::scratch(layout));

  parallel_for(shares.begins(), [&](std::int64_t index, int lane) noexcept {
    const auto [s, h, first, last, opens] = shares[index];
    kernels::Head<T> head = problem.head(s, h);
    head.unread = opens;
    Kernel::forward(head, first, last, outputs.head(s, h), scratch.of(lane));
  });
  outputs.deliver();
}

bool computes_in_f32(DType query, const Layout&) { return query != DType::f64; }
bool any_sequence(const SequenceLayout&, const AttentionOptions&) { return true; }

constexpr AttentionKernel kKernels[] = {
    {{"decode",
      "fp32 vectors along the head dimension, the keys cut into blocks, for sequences of up to 8 "
      "queries without dropout, in f32, bf16 or f16"},
     computes_in_f32,
     [](const SequenceLayout& sequence, const AttentionOptions& options) {
       return sequence.whole_queries <= kMostDecodedQueries && options.dropout == 0;
     },
     forward_decode,
     rows_fused,
     summarize_fused,
     DType::f32},
    {{"fused_amx_bf16",
      "vectors of queries, scores made and used tile by tile, products of bf16 summed in fp32 by tiles of "
      "AMX, "
      "where the precision is bf16 and the processor has them",
      true},
     [](DType, const Layout& layout) { return computes_in_tiles(layout); },
     any_sequence,
     forward_amx,
     rows_fused,
     summarize_fused,
     DType::f32},
    {{"fused_bf16",
      "vectors of queries, scores made and used tile by tile, products of bf16 summed in fp32, where the "
      "precision is bf16 and the processor has AVX512-BF16",
      true},
     [](DType, const Layout& layout) { return computes_in_bf16(layout); },
     any_sequence,
     forward_bf16,
     rows_fused,
     summarize_fused,
     DType::f32},
    {{"fused", "fp32 vectors of queries, scores made and used tile by tile, for f32, bf16 and f16"},
     computes_in_f32,
     any_sequence,
     forward<FusedF32>,
     rows_fused,
     summarize_fused,
     DType::f32},
    {{"reference", "plain float64 loops, for f64 and as the judge of the others"},
     [](DType, const Layout&) { return true; },
     any_sequence,
     forward<ReferenceF64>,
     rows_reference,
     summarize_reference,
     DType::f64},
};
static_assert(kMostDecodedQueries == 8, "as the table says");

}  // namespace

std::span<const AttentionKernel> detail::attention_kernels() noexcept { return kKernels; }

const AttentionKernel& detail::reference_kernel() noexcept { return attention_kernels().back(); }

const AttentionKernel& detail::pick_attention_kernel(DType query, const Layout& layout,
                                                     const SequenceLayout& sequence,
                                                     const AttentionOptions& options) {
  for (const AttentionKernel& kernel : attention_kernels()) {
    if (kernel.supports(query, layout) && kernel.takes(sequence, options)) return kernel;
  }
  return reference_kernel();
}

const AttentionKernel& detail::pick_any_sequence_kernel(DType query, const Layout& layout) {
  for (const AttentionKernel& kernel : attention_kernels()) {
    if (kernel.supports(query, layout) && kernel.takes == any_sequence) return kernel;
  }
  return reference_kernel();
}

const AttentionKernel* detail::pick_attention_kernel(DType query, const Layout& layout,
                                                     const AttentionOptions& options) {
  const AttentionKernel* picked = nullptr;
  for (const SequenceLayout& sequence : layout.sequences) {
    if (sequence.queries == 0) continue;
    const AttentionKernel& kernel = pick_attention_kernel(query, layout, sequence, options);
    if (picked != nullptr && picked != &kernel) return nullptr;
    picked = &kernel;
  }
  return picked == nullptr ? &pick_any_sequence_kernel(query, layout) : picked;
}

KernelChoice host::attention_kernel(const Layout& layout, DType query, const AttentionOptions& options) {
  const AttentionKernel* const kernel = pick_attention_kernel(query, layout, options);
  if (kernel != nullptr) return kernel->choice;
  if (computes_in_tiles(layout)) {
    return {"decode and fused_amx_bf16",
            "each sequence by its own number of queries: decode up to 8, fused_amx_bf16 beyond"};
  }
  if (computes_in_bf16(layout)) {
    return {"decode and fused_bf16",
            "each sequence by its own number of queries: decode up to 8, fused_bf16 beyond"};
  }
  return {"decode and fused", "each sequence by its own number of queries: decode up to 8, fused beyond"};
}

void host::attention_rows(const Layout& layout, ConstTensorView q, ConstTensorView k,
                          const AttentionOptions& options, Stage stage, const RowSelection& selection,
                          const ConstRowStateView& row_state, TensorView out) {
  pick_any_sequence_kernel(q.dtype(), layout).rows(layout, q, k, options, stage, selection, row_state, out);
}

void host::summarize_weights(const Layout& layout, ConstTensorView q, ConstTensorView k,
                             const AttentionOptions& options, const WeightsRequest& request,
                             const ConstRowStateView& row_state, WeightsSummary& summary) {
  pick_any_sequence_kernel(q.dtype(), layout).summarize(layout, q, k, options, request, row_state, summary);
}

void host::attention(const Layout& layout, ConstTensorView q, ConstTensorView k, ConstTensorView v,
                     const AttentionOptions& options, TensorView out, const RowStateView& row_state) {
  // Only decoding reads rows of int8 in place; before the others they become f32.
  Tensor wide_k, wide_v;
  const auto run = [&](const AttentionKernel& kernel, const Layout& part, TensorView to, RowStateView state) {
    if (!part.int8_rows || kernel.forward == forward_decode)
      return kernel.forward(part, q, k, v, options, to, state);
    if (wide_k.count() == 0) wide_k = decoded_int8_rows(k);
    if (wide_v.count() == 0) wide_v = decoded_int8_rows(v);
    Layout wide = part;
    wide.int8_rows = false;
    kernel.forward(wide, q, wide_k, wide_v, options, to, state);
  };
  if (const AttentionKernel* const kernel = pick_attention_kernel(q.dtype(), layout, options)) {
    return run(*kernel, layout, out, row_state);
  }
  // Several kernels write into one tensor, so it is staged here, once. Kernels that share a call compute in
  // f32.
  const StagedOutput<float> staged_out(out), staged_max(row_state.max), staged_sum(row_state.sum);
  for (const AttentionKernel& kernel : attention_kernels()) {
    Layout part = layout;
    for (SequenceLayout& sequence : part.sequences) {
      if (&pick_attention_kernel(q.dtype(), layout, sequence, options) != &kernel) sequence.queries = 0;
    }
    run(kernel, part, staged_out.view(), {staged_max.view(), staged_sum.view()});
  }
  staged_out.deliver();
  staged_max.deliver();
  staged_sum.deliver();
}

}  // namespace attend
