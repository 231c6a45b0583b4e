// Blocks of keys stay while tiles of queries go by: gradients of keys and values are kept in whole vectors,
// in the second-level cache, and a tile's gradient of the queries is added to its rows once per block.
#include "kernels/attention/attention_backward.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/attention_backward.cpp"
#include <hwy/foreach_target.h>

#include "kernels/attention/gradient_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

// With d = 64, k, v and their gradients are 64 KiB each: a quarter of a mebibyte.
constexpr std::int64_t kBlockKeys = 256;

template <int kV>
HWY_ATTR void run_gradient_tile(const BackwardHead& head, std::int64_t first, std::int64_t last,
                                const KeyBlock& block, float* scratch) {
  if constexpr (kV > 1) {
    if (last - first <= (kV - 1) * lanes())
      return run_gradient_tile<kV - 1>(head, first, last, block, scratch);
  }
  GradientTile<kV>(head, first, last - first, scratch).run(block);
}

// Rows of n floats into rows of whole vectors, or back.
HWY_ATTR void load_gradient_rows(const float* rows, std::int64_t stride, std::int64_t count, std::int64_t n,
                                 float* wide) {
  for (std::int64_t i = 0; i < count; ++i) copy_row(rows + i * stride, n, 1, wide + i * whole_vectors(n));
}
HWY_ATTR void store_gradient_rows(const float* wide, std::int64_t count, std::int64_t n, float* rows,
                                  std::int64_t stride) {
  for (std::int64_t i = 0; i < count; ++i) std::copy_n(wide + i * whole_vectors(n), n, rows + i * stride);
}

HWY_ATTR void run_backward(std::span<const BackwardHead> group, std::int64_t first_tile,
                           std::int64_t last_tile, KeyRange keys, const KeyGradients& gradients,
                           float* scratch) {
  const Head<float>& shape = group.front().head;
  const std::int64_t count = keys.end - keys.begin;
  KeyBlock block{keys, nullptr, nullptr};
  float* const k_block = scratch;
  float* const v_block = k_block + kBlockKeys * whole_vectors(shape.d);
  float* const rest = v_block + kBlockKeys * whole_vectors(shape.dv);
  float* const k = gradients.k == nullptr ? nullptr : gradients.k + keys.begin * gradients.k_stride;
  float* const v = gradients.v == nullptr ? nullptr : gradients.v + keys.begin * gradients.v_stride;
  if (k != nullptr) load_gradient_rows(k, gradients.k_stride, count, shape.d, block.k = k_block);
  if (v != nullptr) load_gradient_rows(v, gradients.v_stride, count, shape.dv, block.v = v_block);

  const std::int64_t rows = tile_queries();
  const std::int64_t tiles = (shape.queries + rows - 1) / rows;
  for (std::int64_t tile = first_tile; tile < last_tile; ++tile) {
    const std::int64_t first = tile % tiles * rows;
    run_gradient_tile<kVectors>(group[static_cast<std::size_t>(tile / tiles)], first,
                                std::min(first + rows, shape.queries), block, rest);
  }
  if (k != nullptr) store_gradient_rows(block.k, count, shape.d, k, gradients.k_stride);
  if (v != nullptr) store_gradient_rows(block.v, count, shape.dv, v, gradients.v_stride);
}

HWY_ATTR void row_terms(const BackwardHead& head, const HeadOutput<const float>& forward, std::int64_t first,
                        std::int64_t last) {
  for (std::int64_t i = first; i < last; ++i) {
    const float max = forward.max[i * forward.max_stride], sum = forward.sum[i * forward.sum_stride];
    const float* const out = forward.out + i * forward.out_stride;
    const bool empty = sum == 0;
    // Alone, a sink leaves (sink, 1) and no output: d_out does not matter then, even if it is NaN.
    const bool sink_only = sum == 1 && max == head.head.sink &&
                           std::all_of(out, out + head.head.dv, [](float x) { return x == 0; });
    head.rows.base[i] = empty ? 0 : max;
    head.rows.inverse[i] = empty ? 0 : 1 / sum;
    head.rows.delta[i] = empty || sink_only ? 0 : dot(head.d_out + i * head.d_out_stride, out, head.head.dv);
  }
}

HWY_ATTR std::int64_t gradient_queries() { return tile_queries(); }
HWY_ATTR std::int64_t gradient_block_keys() { return kBlockKeys; }

HWY_ATTR std::int64_t gradient_scratch_size(std::int64_t d, std::int64_t dv) {
  return kBlockKeys * (whole_vectors(d) + whole_vectors(dv)) + GradientTile<kVectors>::scratch_size(d, dv);
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
