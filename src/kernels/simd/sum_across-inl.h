// The sums over the lanes of several vectors at once, as one vector: a few shuffles and additions for all of
// them, where one sum at a time would cost as many for each.
#if defined(ATTEND_KERNELS_SIMD_SUM_ACROSS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_SIMD_SUM_ACROSS_INL_H_
#undef ATTEND_KERNELS_SIMD_SUM_ACROSS_INL_H_
#else
#define ATTEND_KERNELS_SIMD_SUM_ACROSS_INL_H_
#endif

#include "kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

constexpr int kLanes = static_cast<int>(hn::MaxLanes(D()));
constexpr int kQuads = kLanes < 4 ? 1 : kLanes / 4;  // 128-bit blocks of a vector

#if HWY_TARGET != HWY_SCALAR

// Lane i of each block of the result: what that block adds to the sum of vector i.
HWY_ATTR HWY_INLINE V sum_within_blocks(V v0, V v1, V v2, V v3) {
  const D d;
  const hn::Repartition<double, D> pairs;
  const V v01 = hn::Add(hn::InterleaveLower(d, v0, v1), hn::InterleaveUpper(d, v0, v1));
  const V v23 = hn::Add(hn::InterleaveLower(d, v2, v3), hn::InterleaveUpper(d, v2, v3));
  const auto a = hn::BitCast(pairs, v01), b = hn::BitCast(pairs, v23);
  return hn::Add(hn::BitCast(d, hn::InterleaveLower(pairs, a, b)),
                 hn::BitCast(d, hn::InterleaveUpper(pairs, a, b)));
}

// Block i of the result: the sum over the blocks of part[i].
HWY_ATTR HWY_INLINE V sum_of_blocks(const Slot* part) {
#if HWY_CAP_GE512
  const D d;
  const V even =
      hn::Add(hn::ConcatLowerLower(d, part[2], part[0]), hn::ConcatUpperUpper(d, part[2], part[0]));
  const V odd = hn::Add(hn::ConcatLowerLower(d, part[3], part[1]), hn::ConcatUpperUpper(d, part[3], part[1]));
  return hn::Add(hn::OddEvenBlocks(odd, even), hn::SwapAdjacentBlocks(hn::OddEvenBlocks(even, odd)));
#elif HWY_CAP_GE256 || HWY_TARGET == HWY_SVE_256
  const D d;
  const V lower = part[0], upper = part[1];
  return hn::Add(hn::ConcatLowerLower(d, upper, lower), hn::ConcatUpperUpper(d, upper, lower));
#else
  return part[0];
#endif
}

#endif  // HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#endif  // ATTEND_KERNELS_SIMD_SUM_ACROSS_INL_H_
