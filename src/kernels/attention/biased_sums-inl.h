// What a tile of dS^T, the gradient of the biased scores, adds to the gradients of bias and slope.
#if defined(ATTEND_KERNELS_ATTENTION_BIASED_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_ATTENTION_BIASED_SUMS_INL_H_
#undef ATTEND_KERNELS_ATTENTION_BIASED_SUMS_INL_H_
#else
#define ATTEND_KERNELS_ATTENTION_BIASED_SUMS_INL_H_
#endif

#include "kernels/attention/attention_backward.h"
#include "kernels/simd/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

// Sums over the keys of the tile: one for each query, so they stay in lanes.
template <int kV>
HWY_ATTR void add_sums_of_queries(const BackwardHead& at, std::int64_t first, std::int64_t count,
                                  std::int64_t first_key, std::int64_t n, const float* ds) {
  const D d;
  const DI di;
  for (std::int64_t lane = 0; lane < count; lane += lanes()) {
    V sum = hn::Zero(d), moment = hn::Zero(d);
    const V lane_number = hn::ConvertTo(d, hn::Iota(di, static_cast<std::int32_t>(lane)));
    for (std::int64_t j = 0; j < n; ++j) {
      const std::int64_t distance = first + at.head.visible.query_offset - first_key - j;
      const V change = hn::Load(d, ds + j * kV * lanes() + lane);
      const V apart = hn::Abs(hn::Add(hn::Set(d, static_cast<float>(distance)), lane_number));
      sum = hn::Add(sum, change);
      moment = hn::NegMulAdd(change, apart, moment);
    }
    const std::int64_t here = std::min(count - lane, lanes());
    if (at.bias_of_query != nullptr) add_lanes(sum, here, at.bias_of_query + first + lane);
    if (at.slope != nullptr) add_lanes(moment, here, at.slope + first + lane);
  }
}

// ds: (n keys, kV vectors of queries), 0 where a key takes no part.
template <int kV>
HWY_ATTR void add_biased_sums(const BackwardHead& at, std::int64_t first, std::int64_t count,
                              std::int64_t first_key, std::int64_t n, const float* ds) {
  const std::int64_t width = kV * lanes();
  if (at.bias_of_query != nullptr || at.slope != nullptr) {
    add_sums_of_queries<kV>(at, first, count, first_key, n, ds);
  }
  if (at.bias_of_key != nullptr) {
    for (std::int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (std::int64_t i = 0; i < count; ++i) sum += ds[j * width + i];
      at.bias_of_key[first_key + j] += sum;
    }
  }
  if (at.bias == nullptr) return;
  float* const target = at.bias + first * at.bias_query_stride + first_key * at.bias_key_stride;
  if (at.bias_key_stride == 1) {
    add_columns_to_rows(ds, width, count, n, target, at.bias_query_stride);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      target[i * at.bias_query_stride + j * at.bias_key_stride] += ds[j * width + i];
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#endif  // ATTEND_KERNELS_ATTENTION_BIASED_SUMS_INL_H_
