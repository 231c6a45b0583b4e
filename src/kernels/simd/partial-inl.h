// The last vector of a row, of which only the first lanes exist.
#if defined(ATTEND_KERNELS_SIMD_PARTIAL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_SIMD_PARTIAL_INL_H_
#undef ATTEND_KERNELS_SIMD_PARTIAL_INL_H_
#else
#define ATTEND_KERNELS_SIMD_PARTIAL_INL_H_
#endif

#include "kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

// The first `count` lanes from memory, at most a vector of them; `rest` in the others. Nothing beyond them is
// read.
HWY_ATTR HWY_INLINE V load_some(const float* from, std::int64_t count, float rest = 0) {
  const D d;
  if (count >= lanes()) return hn::LoadU(d, from);
#if HWY_MEM_OPS_MIGHT_FAULT
  HWY_ALIGN float values[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(hn::Set(d, rest), d, values);
  for (std::int64_t i = 0; i < count; ++i) values[i] = from[i];
  return hn::Load(d, values);
#else
  const auto exist = hn::FirstN(d, static_cast<std::size_t>(count));
  return hn::IfThenElse(exist, hn::MaskedLoad(exist, d, from), hn::Set(d, rest));
#endif
}

// The first `count` lanes to memory. Nothing beyond them is written.
HWY_ATTR HWY_INLINE void store_some(V x, float* to, std::int64_t count) {
  const D d;
  if (count >= lanes()) return hn::StoreU(x, d, to);
#if HWY_MEM_OPS_MIGHT_FAULT
  HWY_ALIGN float values[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(x, d, values);
  for (std::int64_t i = 0; i < count; ++i) to[i] = values[i];
#else
  hn::BlendedStore(x, hn::FirstN(d, static_cast<std::size_t>(count)), d, to);
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#endif  // ATTEND_KERNELS_SIMD_PARTIAL_INL_H_
