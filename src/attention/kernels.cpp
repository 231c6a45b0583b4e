#include "attention/kernels.h"

#include "attention/problem.h"
#include "attention/row_blocks.h"
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
  static std::int64_t rows() {
    kernels::require_isa();
    return kernels::fused_tile_queries();
  }
  static std::int64_t scratch(const Layout& layout) {
    return kernels::scratch_size_fused(layout.d, layout.dv);
  }
  static constexpr auto forward = kernels::attention_fused;
};

struct ReferenceF64 {
  using Number = double;
  static std::int64_t rows() { return 16; }
  static std::int64_t scratch(const Layout& layout) {
    return kernels::scratch_size_reference(layout.longest_keys);
  }
  static constexpr auto forward = kernels::attention_reference;
};

template <class Kernel>
void forward(const Layout& layout, ConstTensorView q, ConstTensorView k, ConstTensorView v,
             const AttentionOptions& options, TensorView out, RowStateView row_state) {
  using T = typename Kernel::Number;
  const RowBlocks blocks(layout, Kernel::rows());
  if (blocks.count() == 0) return;
  const Problem<T> problem(layout, q, k, v, options);
  StagedOutput<T> staged_out(out), staged_max(row_state.max), staged_sum(row_state.sum);
  const Placement out_place(staged_out, layout.packed);
  const bool keeps_state = row_state.max.given();
  const Placement max_place = keeps_state ? Placement(staged_max, layout.packed) : Placement();
  const Placement sum_place = keeps_state ? Placement(staged_sum, layout.packed) : Placement();
  const std::int64_t scratch_size =
      (Kernel::scratch(layout) + 15) / 16 * 16;  // each lane's part is aligned, too
  const int lanes = lanes_for(blocks.count());
  const auto scratch = Scratch::of<T>(lanes * scratch_size);

  parallel_for(blocks.count(), lanes, [&](std::int64_t index, int lane) noexcept {
    const auto [s, h, first, last] = blocks[index];
    const std::int64_t row = problem.sequence(s).query_begin;
    kernels::HeadOutput<T> target;
    target.out = staged_out.at(out_place.offset(s, row, h));
    target.out_stride = layout.dv == 0 ? 0 : out_place.row_stride;
    if (keeps_state) {
      target.max = staged_max.at(max_place.offset(s, row, h));
      target.sum = staged_sum.at(sum_place.offset(s, row, h));
      target.max_stride = max_place.row_stride;
      target.sum_stride = sum_place.row_stride;
    }
    Kernel::forward(problem.head(s, h), first, last, target, scratch.template as<T>() + lane * scratch_size);
  });
  staged_out.deliver();
  staged_max.deliver();
  staged_sum.deliver();
}

constexpr AttentionKernel kKernels[] = {
    {{"fused", "fp32 vectors, scores made and used tile by tile, for f32, bf16 and f16"},
     [](DType query) { return query != DType::f64; },
     forward<FusedF32>,
     rows_fused,
     summarize_fused,
     DType::f32},
    {{"reference", "plain float64 loops, for f64 and as the judge of the others"},
     [](DType) { return true; },
     forward<ReferenceF64>,
     rows_reference,
     summarize_reference,
     DType::f64},
};

}  // namespace

std::span<const AttentionKernel> attention_kernels() noexcept { return kKernels; }

const AttentionKernel& reference_kernel() noexcept { return attention_kernels().back(); }

const AttentionKernel& pick_attention_kernel(DType query) noexcept {
  for (const AttentionKernel& kernel : attention_kernels()) {
    if (kernel.supports(query)) return kernel;
  }
  return reference_kernel();
}

}  // namespace attend
