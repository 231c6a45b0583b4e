// Rows of floats: copied to whole vectors, added up, looked through, and added to from columns.
#if defined(ATTEND_KERNELS_SIMD_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_SIMD_ROWS_INL_H_
#undef ATTEND_KERNELS_SIMD_ROWS_INL_H_
#else
#define ATTEND_KERNELS_SIMD_ROWS_INL_H_
#endif

#include <algorithm>

#include "kernels/simd/storage-inl.h"
#include "kernels/simd/transpose-inl.h"
#include "kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

// n, rounded up to whole vectors.
HWY_INLINE std::int64_t whole_vectors(std::int64_t n) { return (n + lanes() - 1) / lanes() * lanes(); }

// to[c] = factor * from[c], and zeros up to a whole vector. `to` is aligned.
HWY_ATTR inline void copy_row(const float* from, std::int64_t n, float factor, float* to) {
  const D d;
  const V f = hn::Set(d, factor);
  std::int64_t c = 0;
  for (; c + lanes() <= n; c += lanes()) hn::Store(hn::Mul(f, hn::LoadU(d, from + c)), d, to + c);
  if (c == n) return;
  hn::Store(hn::Zero(d), d, to + c);
  for (; c < n; ++c) to[c] = factor * from[c];
}

// to[c] += factor * from[c], over n = whole vectors; `from` is aligned.
HWY_ATTR inline void add_scaled_row(float factor, const float* from, std::int64_t n, float* to) {
  const D d;
  const V f = hn::Set(d, factor);
  for (std::int64_t c = 0; c < n; c += lanes()) {
    hn::StoreU(hn::MulAdd(f, hn::Load(d, from + c), hn::LoadU(d, to + c)), d, to + c);
  }
}

// to[l] += sum[l] for the first `count` lanes.
HWY_ATTR inline void add_lanes(V sum, std::int64_t count, float* to) {
  const D d;
  HWY_ALIGN float lane[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(sum, d, lane);
  for (std::int64_t l = 0; l < count; ++l) to[l] += lane[l];
}

template <class T>
HWY_ATTR float dot(const T* a, const float* b, std::int64_t n) {
  const D d;
  V sum = hn::Zero(d);
  std::int64_t c = 0;
  for (; c + lanes() <= n; c += lanes()) sum = hn::MulAdd(load_stored(a + c), hn::LoadU(d, b + c), sum);
  float total = hn::GetLane(hn::SumOfLanes(d, sum));
  for (; c < n; ++c) total += stored_value(a[c]) * b[c];
  return total;
}

// Neither NaN nor infinite, all `count` rows of n.
HWY_ATTR inline bool all_finite(const float* rows, std::int64_t stride, std::int64_t count, std::int64_t n) {
  const D d;
  // x - x is 0 for finite x and NaN otherwise.
  // Four sums, so that none waits for the addition before it: with one, this took a tenth of causal attention
  // to 128 keys.
  V wrong0 = hn::Zero(d), wrong1 = wrong0, wrong2 = wrong0, wrong3 = wrong0;
  const auto difference = [&](const float* at) HWY_ATTR {
    const V x = hn::LoadU(d, at);
    return hn::Sub(x, x);
  };
  float rest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const float* const row = rows + i * stride;
    std::int64_t c = 0;
    for (; c + 4 * lanes() <= n; c += 4 * lanes()) {
      wrong0 = hn::Add(wrong0, difference(row + c));
      wrong1 = hn::Add(wrong1, difference(row + c + lanes()));
      wrong2 = hn::Add(wrong2, difference(row + c + 2 * lanes()));
      wrong3 = hn::Add(wrong3, difference(row + c + 3 * lanes()));
    }
    for (; c + lanes() <= n; c += lanes()) wrong0 = hn::Add(wrong0, difference(row + c));
    for (; c < n; ++c) rest += row[c] - row[c];
  }
  const V wrong = hn::Add(hn::Add(wrong0, wrong1), hn::Add(wrong2, wrong3));
  return rest == 0 && hn::AllTrue(d, hn::Eq(wrong, hn::Zero(d)));
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#endif  // ATTEND_KERNELS_SIMD_ROWS_INL_H_
