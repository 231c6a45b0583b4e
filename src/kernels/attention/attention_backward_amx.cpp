// Tiles of queries against a block of keys, with products by tiles of AMX: gradient_amx-inl.h.
#include "kernels/attention/attention_backward_amx.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/attention_backward_amx.cpp"
#include <hwy/foreach_target.h>

#include "kernels/attention/gradient_amx-inl.h"

#if ATTEND_AMX
ATTEND_BEFORE_AMX();
namespace attend::kernels {
namespace HWY_NAMESPACE {

void run_backward_amx(std::span<const BackwardHead> group, std::span<const BackwardOperands> operands,
                      std::int64_t first_tile, std::int64_t last_tile, KeyRange keys,
                      const KeyGradients& gradients, float* scratch) {
  const TileScope tiles;
  for_each_gradient_tile(
      group, first_tile, last_tile, keys, gradients, GradientTiles::kWidth, scratch,
      [&](std::size_t h, KeyRange rows, KeyRange next, const KeyBlock& block, float* rest) ATTEND_AMX_ATTR {
        const BackwardOperands& in = operands[h];
        prefetch_rows(in.scores.q, in.scores.q_stride, next, group[h].head.d);
        prefetch_rows(in.d_out, in.d_out_stride, next, group[h].head.dv);
        GradientTiles(group[h], in, rows.begin, rows.end - rows.begin, rest).run(block);
      });
}

std::int64_t gradient_amx_scratch(std::int64_t d, std::int64_t dv) {
  return copied_rows(d) + copied_rows(dv) + GradientTiles::scratch_size(d, dv);
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
ATTEND_AFTER_AMX();
#endif  // ATTEND_AMX

#if HWY_ONCE
namespace attend::kernels {

#if HWY_TARGETS & ATTEND_BF16_TARGETS && defined(__x86_64__)

std::int64_t backward_amx_tile_queries() noexcept { return bf16_set::GradientTiles::kWidth; }
std::int64_t scratch_size_backward_amx(std::int64_t d, std::int64_t dv) noexcept {
  return bf16_set::gradient_amx_scratch(d, dv);
}
void attention_backward_amx(std::span<const BackwardHead> group, std::span<const BackwardOperands> operands,
                            std::int64_t first_tile, std::int64_t last_tile, KeyRange keys,
                            const KeyGradients& gradients, float* scratch) noexcept {
  bf16_set::run_backward_amx(group, operands, first_tile, last_tile, keys, gradients, scratch);
}

#else

std::int64_t backward_amx_tile_queries() noexcept { return 1; }
std::int64_t scratch_size_backward_amx(std::int64_t, std::int64_t) noexcept { return 0; }
void attention_backward_amx(std::span<const BackwardHead>, std::span<const BackwardOperands>, std::int64_t,
                            std::int64_t, KeyRange, const KeyGradients&, float*) noexcept {}

#endif

}  // namespace attend::kernels
#endif
