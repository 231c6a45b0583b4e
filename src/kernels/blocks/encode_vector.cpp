#include "kernels/blocks/encode_vector.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/blocks/encode_vector.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

// Below it 127 / largest is no longer finite; such a block counts as zeros.
constexpr float kLeast = 0x1p-120f;

HWY_ATTR HWY_INLINE void encode_block(const float* x, VectorBlock& block) {
  const D d;
  const DI di;
  const hn::Rebind<std::int8_t, D> di8;
  V largest = hn::Zero(d), infected = hn::Zero(d);  // 0 times what is not finite is NaN
  for (std::int64_t i = 0; i < kBlockDepth; i += lanes()) {
    const V v = hn::LoadU(d, x + i);
    largest = hn::Max(largest, hn::Abs(v));
    infected = hn::Add(infected, hn::Mul(v, hn::Zero(d)));
  }
  const float most = hn::GetLane(hn::MaxOfLanes(d, largest));
  const bool finite = hn::GetLane(hn::SumOfLanes(d, infected)) == 0, counts = finite && most >= kLeast;
  const V factor = hn::Set(d, counts ? 127 / most : 0.0f);
  std::int32_t sums[2] = {};
  constexpr std::int64_t kHalf = kBlockDepth / 2;
  for (std::int64_t half = 0; half < 2; ++half) {
    auto sum = hn::Zero(di);
    for (std::int64_t i = half * kHalf; i < (half + 1) * kHalf; i += lanes()) {
      const V v = counts ? hn::Mul(hn::LoadU(d, x + i), factor) : hn::Zero(d);
      const auto number = hn::NearestInt(v);
      sum = hn::Add(sum, number);
      hn::StoreU(hn::DemoteTo(di8, number), di8, block.values + i);
    }
    sums[half] = hn::GetLane(hn::SumOfLanes(di, sum));
  }
  const std::int32_t total = sums[0] + sums[1];
  block.scale = counts ? most / 127 : finite ? 0.0f : std::numeric_limits<float>::quiet_NaN();
  block.weighted = block.scale * static_cast<float>(total);
  block.minus_8 = -8 * total;
  block.minus_128 = -128 * total;
  block.minus_32[0] = -32 * sums[0];
  block.minus_32[1] = -32 * sums[1];
}

HWY_ATTR void encode(const float* numbers, std::int64_t count, VectorBlock* blocks) {
  std::int64_t first = 0;
  for (; first + kBlockDepth <= count; first += kBlockDepth)
    encode_block(numbers + first, blocks[first / kBlockDepth]);
  if (first == count) return;
  float last[kBlockDepth] = {};
  for (std::int64_t i = first; i < count; ++i) last[i - first] = numbers[i];
  encode_block(last, blocks[first / kBlockDepth]);
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attend::kernels {
namespace {

HWY_EXPORT(encode);

}  // namespace

void encode_vector(const float* numbers, std::int64_t count, VectorBlock* blocks) noexcept {
  HWY_DYNAMIC_DISPATCH(encode)(numbers, count, blocks);
}

}  // namespace attend::kernels
#endif
