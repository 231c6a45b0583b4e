// The vector of floats of the instruction set at hand. Included once for each by the kernels that Highway
// compiles per target.
#if defined(ATTEND_KERNELS_SIMD_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_SIMD_VECTORS_INL_H_
#undef ATTEND_KERNELS_SIMD_VECTORS_INL_H_
#else
#define ATTEND_KERNELS_SIMD_VECTORS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
using DI = hn::RebindToSigned<D>;

// A vector as an element of an array or a member of a class. SVE's own type cannot be one, for the compiler
// does not know its size; of vectors of 256 bits gcc can be told (-msve-vector-bits=256), and has a second
// type for them that converts to the first and back. Highway's templates know the first only: what such an
// element goes into by deduction is copied into a V before. KeySlot and MaskSlot: the same for whole numbers
// and masks.
#if HWY_TARGET == HWY_SVE_256
using Slot = V __attribute__((arm_sve_vector_bits(256)));
using KeySlot = hn::Vec<DI> __attribute__((arm_sve_vector_bits(256)));
using MaskSlot = hn::Mask<D> __attribute__((arm_sve_vector_bits(256)));
#else
using Slot = V;
using KeySlot = hn::Vec<DI>;
using MaskSlot = hn::Mask<D>;
#endif

HWY_INLINE std::int64_t lanes() { return static_cast<std::int64_t>(hn::Lanes(D())); }

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#endif  // ATTEND_KERNELS_SIMD_VECTORS_INL_H_
