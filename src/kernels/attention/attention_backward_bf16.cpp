// Tiles of queries against a block of keys, with products of bf16: gradient_pairs-inl.h.
#include "kernels/attention/attention_backward_bf16.h"

#include "kernels/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/attention_backward_bf16.cpp"
#include <hwy/foreach_target.h>

#include "kernels/attention/gradient_pairs-inl.h"

#if ATTEND_BF16_PAIRS
ATTEND_BEFORE_BF16();
namespace attend::kernels {
namespace HWY_NAMESPACE {

template <int kV>
void run_gradient_pairs(const BackwardHead& head, const BackwardOperands& operands, KeyRange rows,
                        const KeyBlock& block, float* scratch) {
  const std::int64_t count = rows.end - rows.begin;
  if constexpr (kV > 1) {
    if (count <= (kV - 1) * lanes()) return run_gradient_pairs<kV - 1>(head, operands, rows, block, scratch);
  }
  GradientPairs<kV>(head, operands, rows.begin, count, scratch).run(block);
}

void run_backward_pairs(std::span<const BackwardHead> group, std::span<const BackwardOperands> operands,
                        std::int64_t first_tile, std::int64_t last_tile, KeyRange keys,
                        const KeyGradients& gradients, float* scratch) {
  for_each_gradient_tile(group, first_tile, last_tile, keys, gradients, tile_queries(), scratch,
                         [&](std::size_t h, KeyRange rows, KeyRange next, const KeyBlock& block, float* rest)
                             ATTEND_BF16_ATTR {
                               const BackwardOperands& in = operands[h];
                               prefetch_rows(in.scores.q, in.scores.q_stride, next, group[h].head.d);
                               prefetch_rows(in.d_out, in.d_out_stride, next, group[h].head.dv);
                               run_gradient_pairs<kVectors>(group[h], in, rows, block, rest);
                             });
}

void row_terms_of_pairs(const BackwardHead& head, const BackwardOperands& operands,
                        const HeadOutput<const float>& forward, std::int64_t first, std::int64_t last) {
  make_row_terms(head, reinterpret_cast<const bfloat16*>(operands.d_out), operands.d_out_stride, forward,
                 first, last);
}

std::int64_t gradient_pairs_queries() { return tile_queries(); }
std::int64_t gradient_pairs_scratch(std::int64_t d, std::int64_t dv) {
  return copied_rows(d) + copied_rows(dv) + GradientPairs<kVectors>::scratch_size(d, dv);
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
ATTEND_AFTER_BF16();
#endif  // ATTEND_BF16_PAIRS

#if HWY_ONCE
namespace attend::kernels {

#if HWY_TARGETS & ATTEND_BF16_TARGETS

std::int64_t backward_bf16_tile_queries() noexcept { return bf16_set::gradient_pairs_queries(); }
std::int64_t scratch_size_backward_bf16(std::int64_t d, std::int64_t dv) noexcept {
  return bf16_set::gradient_pairs_scratch(d, dv);
}
void backward_rows_bf16(const BackwardHead& head, const BackwardOperands& operands,
                        const HeadOutput<const float>& forward, std::int64_t first,
                        std::int64_t last) noexcept {
  bf16_set::row_terms_of_pairs(head, operands, forward, first, last);
}
void attention_backward_bf16(std::span<const BackwardHead> group, std::span<const BackwardOperands> operands,
                             std::int64_t first_tile, std::int64_t last_tile, KeyRange keys,
                             const KeyGradients& gradients, float* scratch) noexcept {
  bf16_set::run_backward_pairs(group, operands, first_tile, last_tile, keys, gradients, scratch);
}

#else

std::int64_t backward_bf16_tile_queries() noexcept { return 1; }
std::int64_t scratch_size_backward_bf16(std::int64_t, std::int64_t) noexcept { return 0; }
void backward_rows_bf16(const BackwardHead&, const BackwardOperands&, const HeadOutput<const float>&,
                        std::int64_t, std::int64_t) noexcept {}
void attention_backward_bf16(std::span<const BackwardHead>, std::span<const BackwardOperands>, std::int64_t,
                             std::int64_t, KeyRange, const KeyGradients&, float*) noexcept {}

#endif

}  // namespace attend::kernels
#endif
