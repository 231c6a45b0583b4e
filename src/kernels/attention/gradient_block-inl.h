// A block of keys stays while tiles of queries go by: its gradients are kept in whole vectors, in the
// second-level cache, and a tile's gradient of the queries is added to its rows once per block.
#if defined(ATTEND_KERNELS_ATTENTION_GRADIENT_BLOCK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_ATTENTION_GRADIENT_BLOCK_INL_H_
#undef ATTEND_KERNELS_ATTENTION_GRADIENT_BLOCK_INL_H_
#else
#define ATTEND_KERNELS_ATTENTION_GRADIENT_BLOCK_INL_H_
#endif

#include <hwy/cache_control.h>

#include <span>

#include "kernels/attention/attention_backward.h"
#include "kernels/simd/outer_product-inl.h"
#include "kernels/simd/rows-inl.h"
#include "kernels/simd/storage-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

// With d = 64, k, v and their gradients are 128 KiB each: half a mebibyte.
constexpr std::int64_t kBlockKeys = 512;

// The gradients of a block of keys while it is worked on: rows are whole vectors.
struct KeyBlock {
  KeyRange keys;
  float* k = nullptr;  // (keys, whole_vectors(d)); null where not wanted
  float* v = nullptr;  // (keys, whole_vectors(dv))
  std::int64_t k_stride = 0, v_stride = 0;
};

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

// Asks for a tile's rows while the tile before it is worked on.
template <class T>
HWY_ATTR void prefetch_rows(const T* rows, std::int64_t stride, KeyRange range, std::int64_t n) {
  constexpr std::int64_t kLine = 64 / sizeof(T);
  if (rows == nullptr) return;
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    for (std::int64_t c = 0; c < n; c += kLine) hwy::Prefetch(rows + i * stride + c);
  }
}

// Calls body(head, rows of the tile, rows of the next one, block, scratch) for the tiles of a group.
template <class Body>
HWY_ATTR HWY_INLINE void for_each_gradient_tile(std::span<const BackwardHead> group, std::int64_t first_tile,
                                                std::int64_t last_tile, KeyRange keys,
                                                const KeyGradients& gradients, std::int64_t tile_rows,
                                                float* scratch, const Body& body) {
  const Head<float>& shape = group.front().head;
  float* const k_scratch = scratch;
  float* const v_scratch = k_scratch + copied_rows(shape.d);
  float* const rest = v_scratch + copied_rows(shape.dv);
  const GradientRows k(gradients.k, gradients.k_stride, keys, shape.d, k_scratch);
  const GradientRows v(gradients.v, gradients.v_stride, keys, shape.dv, v_scratch);
  const KeyBlock block{keys, k.data(), v.data(), k.row_stride(), v.row_stride()};

  const std::int64_t tiles = (shape.queries + tile_rows - 1) / tile_rows;
  for (std::int64_t tile = first_tile; tile < last_tile; ++tile) {
    const std::int64_t first = tile % tiles * tile_rows;
    const std::int64_t last = std::min(first + tile_rows, shape.queries);
    const KeyRange next{last, std::min(last + tile_rows, shape.queries)};
    const auto h = static_cast<std::size_t>(tile / tiles);
    prefetch_rows(group[h].q, group[h].q_stride, next, shape.d);
    body(h, KeyRange{first, last}, next, block, rest);
  }
  k.finish();
  v.finish();
}

// Rows [first, last) of base, inverse and delta, from rows of d_out in any type.
template <class T>
HWY_ATTR void make_row_terms(const BackwardHead& head, const T* d_out, std::int64_t d_out_stride,
                             const HeadOutput<const float>& forward, std::int64_t first, std::int64_t last) {
  for (std::int64_t i = first; i < last; ++i) {
    const float max = forward.max[i * forward.max_stride], sum = forward.sum[i * forward.sum_stride];
    const float* const out = forward.out + i * forward.out_stride;
    const bool empty = sum == 0;
    // Alone, a sink leaves (sink, 1) and no output: d_out does not matter then, even if it is NaN.
    const bool sink_only = sum == 1 && max == head.head.sink &&
                           std::all_of(out, out + head.head.dv, [](float x) { return x == 0; });
    head.rows.base[i] = empty ? 0 : max;
    head.rows.inverse[i] = empty ? 0 : 1 / sum;
    head.rows.delta[i] = empty || sink_only ? 0 : dot(d_out + i * d_out_stride, out, head.head.dv);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#endif  // ATTEND_KERNELS_ATTENTION_GRADIENT_BLOCK_INL_H_
