// Blocks of keys stay while tiles of queries go by: gradients of keys and values are kept in whole vectors,
// in the second-level cache, and a tile's gradient of the queries is added to its rows once per block.
#include "kernels/attention/attention_backward.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/attention_backward.cpp"
#include <hwy/foreach_target.h>

#include <hwy/cache_control.h>

#include "kernels/attention/gradient_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

// With d = 64, k, v and their gradients are 128 KiB each: half a mebibyte.
constexpr std::int64_t kBlockKeys = 512;

template <int kV>
HWY_ATTR void run_gradient_tile(const BackwardHead& head, std::int64_t first, std::int64_t last,
                                const KeyBlock& block, float* scratch) {
  if constexpr (kV > 1) {
    if (last - first <= (kV - 1) * lanes())
      return run_gradient_tile<kV - 1>(head, first, last, block, scratch);
  }
  GradientTile<kV>(head, first, last - first, scratch).run(block);
}

// What a block of rows takes that is not whole vectors already.
HWY_INLINE std::int64_t copied_rows(std::int64_t n) {
  return n == whole_vectors(n) ? 0 : kBlockKeys * whole_vectors(n);
}

// Rows of gradients as whole vectors: in place where they are, else in a copy that is written back.
struct GradientRows {
  float* const rows;
  const std::int64_t stride, count, n;
  float* const wide;

  HWY_ATTR GradientRows(float* target, std::int64_t target_stride, KeyRange keys, std::int64_t columns,
                        float* scratch)
      : rows(target == nullptr ? nullptr : target + keys.begin * target_stride),
        stride(target_stride),
        count(keys.end - keys.begin),
        n(columns),
        wide(scratch) {
    if (rows == nullptr || in_place()) return;
    for (std::int64_t i = 0; i < count; ++i) copy_row(rows + i * stride, n, 1, wide + i * whole_vectors(n));
  }
  HWY_ATTR void finish() const {
    if (rows == nullptr || in_place()) return;
    for (std::int64_t i = 0; i < count; ++i) std::copy_n(wide + i * whole_vectors(n), n, rows + i * stride);
  }
  bool in_place() const { return copied_rows(n) == 0; }
  float* data() const { return rows == nullptr || in_place() ? rows : wide; }
  std::int64_t row_stride() const { return in_place() ? stride : whole_vectors(n); }
};

// Asks for a tile's rows of q, d_out and d_q while the tile before it is worked on.
HWY_ATTR void prefetch_rows(const float* rows, std::int64_t stride, std::int64_t first, std::int64_t last,
                            std::int64_t n) {
  constexpr std::int64_t kLine = 64 / sizeof(float);
  if (rows == nullptr) return;
  for (std::int64_t i = first; i < last; ++i) {
    for (std::int64_t c = 0; c < n; c += kLine) hwy::Prefetch(rows + i * stride + c);
  }
}

HWY_ATTR void run_backward(std::span<const BackwardHead> group, std::int64_t first_tile,
                           std::int64_t last_tile, KeyRange keys, const KeyGradients& gradients,
                           float* scratch) {
  const Head<float>& shape = group.front().head;
  float* const k_scratch = scratch;
  float* const v_scratch = k_scratch + copied_rows(shape.d);
  float* const rest = v_scratch + copied_rows(shape.dv);
  const GradientRows k(gradients.k, gradients.k_stride, keys, shape.d, k_scratch);
  const GradientRows v(gradients.v, gradients.v_stride, keys, shape.dv, v_scratch);
  const KeyBlock block{keys, k.data(), v.data(), k.row_stride(), v.row_stride()};

  const std::int64_t rows = tile_queries();
  const std::int64_t tiles = (shape.queries + rows - 1) / rows;
  for (std::int64_t tile = first_tile; tile < last_tile; ++tile) {
    const std::int64_t first = tile % tiles * rows;
    const BackwardHead& head = group[static_cast<std::size_t>(tile / tiles)];
    const std::int64_t last = std::min(first + rows, shape.queries),
                       next = std::min(last + rows, shape.queries);
    prefetch_rows(head.head.q, head.head.q_stride, last, next, shape.d);
    prefetch_rows(head.d_out, head.d_out_stride, last, next, shape.dv);
    prefetch_rows(head.q, head.q_stride, last, next, shape.d);
    run_gradient_tile<kVectors>(head, first, last, block, rest);
  }
  k.finish();
  v.finish();
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
