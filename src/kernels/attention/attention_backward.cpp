// Tiles of queries against a block of keys, in fp32: gradient_tile-inl.h, gradient_block-inl.h.
#include "kernels/attention/attention_backward.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/attention_backward.cpp"
#include <hwy/foreach_target.h>

#include "kernels/attention/gradient_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

template <int kV>
HWY_ATTR void run_gradient_tile(const BackwardHead& head, std::int64_t first, std::int64_t last,
                                const KeyBlock& block, float* scratch) {
  if constexpr (kV > 1) {
    if (last - first <= (kV - 1) * lanes())
      return run_gradient_tile<kV - 1>(head, first, last, block, scratch);
  }
  GradientTile<kV>(head, first, last - first, scratch).run(block);
}

HWY_ATTR void run_backward(std::span<const BackwardHead> group, std::int64_t first_tile,
                           std::int64_t last_tile, KeyRange keys, const KeyGradients& gradients,
                           float* scratch) {
  for_each_gradient_tile(group, first_tile, last_tile, keys, gradients, tile_queries(), scratch,
                         [&](std::size_t h, KeyRange rows, KeyRange next, const KeyBlock& block, float* rest)
                             HWY_ATTR {
                               const BackwardHead& head = group[h];
                               prefetch_rows(head.head.q, head.head.q_stride, next, head.head.d);
                               prefetch_rows(head.d_out, head.d_out_stride, next, head.head.dv);
                               run_gradient_tile<kVectors>(head, rows.begin, rows.end, block, rest);
                             });
}

HWY_ATTR void row_terms(const BackwardHead& head, const HeadOutput<const float>& forward, std::int64_t first,
                        std::int64_t last) {
  make_row_terms(head, head.d_out, head.d_out_stride, forward, first, last);
}

HWY_ATTR std::int64_t gradient_queries() { return tile_queries(); }
HWY_ATTR std::int64_t gradient_block_keys() { return kBlockKeys; }

HWY_ATTR std::int64_t gradient_scratch_size(std::int64_t d, std::int64_t dv) {
  return copied_rows(d) + copied_rows(dv) + GradientTile<kVectors>::scratch_size(d, dv);
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attend::kernels {
namespace {

HWY_EXPORT(run_backward);
HWY_EXPORT(row_terms);
HWY_EXPORT(gradient_queries);
HWY_EXPORT(gradient_block_keys);
HWY_EXPORT(gradient_scratch_size);

}  // namespace

std::int64_t backward_tile_queries() noexcept { return HWY_DYNAMIC_DISPATCH(gradient_queries)(); }
std::int64_t backward_block_keys() noexcept { return HWY_DYNAMIC_DISPATCH(gradient_block_keys)(); }
std::int64_t scratch_size_backward(std::int64_t d, std::int64_t dv) noexcept {
  return HWY_DYNAMIC_DISPATCH(gradient_scratch_size)(d, dv);
}

void backward_rows(const BackwardHead& head, const HeadOutput<const float>& forward, std::int64_t first,
                   std::int64_t last) noexcept {
  HWY_DYNAMIC_DISPATCH(row_terms)(head, forward, first, last);
}

void attention_backward(std::span<const BackwardHead> group, std::int64_t first_tile, std::int64_t last_tile,
                        KeyRange keys, const KeyGradients& gradients, float* scratch) noexcept {
  HWY_DYNAMIC_DISPATCH(run_backward)(group, first_tile, last_tile, keys, gradients, scratch);
}

double backward_sink(const BackwardHead& head) noexcept {
  double sum = 0;
  for (std::int64_t i = 0; i < head.head.queries; ++i) {
    const double weight =
        std::exp(double{head.head.sink} - double{head.rows.base[i]}) * double{head.rows.inverse[i]};
    sum -= weight * double{head.rows.delta[i]};
  }
  return sum;
}

}  // namespace attend::kernels
#endif
