// How much attention each key receives from a tile of queries: the sum of its row of weights over all lanes.
#if defined(ATTEND_KERNELS_ATTENTION_RECEIVED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_ATTENTION_RECEIVED_INL_H_
#undef ATTEND_KERNELS_ATTENTION_RECEIVED_INL_H_
#else
#define ATTEND_KERNELS_ATTENTION_RECEIVED_INL_H_
#endif

#include "kernels/attention/score_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

constexpr int kLaneCount = static_cast<int>(hn::MaxLanes(D()));
static_assert(kKeyTile % kLaneCount == 0);

// Lanes 2i and 2i + 1 added up, of `low` in the lower half and of `high` in the upper.
HWY_ATTR HWY_INLINE V add_neighbours(V high, V low) {
#if HWY_TARGET == HWY_SCALAR
  return hn::Add(high, low);  // never called: one lane has no neighbour
#else
  const D d;
  return hn::Add(hn::ConcatEven(d, high, low), hn::ConcatOdd(d, high, low));
#endif
}

// The sums of kKeys rows of kV vectors, in kLaneCount / kKeys partial sums each, in the order of the rows.
// Neighbouring lanes are added while two vectors become one, so n vectors take n - 1 steps instead of n log
// n.
template <int kV, int kKeys>
HWY_ATTR HWY_INLINE V sum_over_lanes(const float* weights, std::int64_t width) {
  const D d;
  if constexpr (kKeys == 1) {
    V sum = hn::Load(d, weights);
#pragma GCC unroll 3
    for (int v = 1; v < kV; ++v) sum = hn::Add(sum, hn::Load(d, weights + v * lanes()));
    return sum;
  } else {
    const V low = sum_over_lanes<kV, kKeys / 2>(weights, width);
    const V high = sum_over_lanes<kV, kKeys / 2>(weights + kKeys / 2 * width, width);
    return add_neighbours(high, low);
  }
}

// weights: kKeyTile rows, of which n hold keys.
template <int kV>
HWY_ATTR void add_received(const float* weights, std::int64_t n, double* received) {
  const D d;
  HWY_ALIGN float sums[kLaneCount];
  for (std::int64_t j = 0; j < n; j += kLaneCount) {
    hn::Store(sum_over_lanes<kV, kLaneCount>(weights + j * kV * lanes(), kV * lanes()), d, sums);
    const std::int64_t here = std::min<std::int64_t>(n - j, kLaneCount);
    for (std::int64_t l = 0; l < here; ++l) received[j + l] += static_cast<double>(sums[l]);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#endif  // ATTEND_KERNELS_ATTENTION_RECEIVED_INL_H_
