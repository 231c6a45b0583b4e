// Dropout over vectors of queries: the same choices as DropoutStream, bit for bit.
#if defined(ATTEND_KERNELS_SIMD_DROPOUT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_SIMD_DROPOUT_INL_H_
#undef ATTEND_KERNELS_SIMD_DROPOUT_INL_H_
#else
#define ATTEND_KERNELS_SIMD_DROPOUT_INL_H_
#endif

#include "base/random.h"
#include "kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

using DU = hn::RebindToUnsigned<D>;
using VU = hn::Vec<DU>;

struct DropoutLanes {
  const DropoutStream& stream;

  HWY_ATTR explicit DropoutLanes(const DropoutStream& of) : stream(of) {}

  static HWY_ATTR HWY_INLINE VU mix(VU x) {
    const DU d;
    x = hn::Mul(hn::Xor(x, hn::ShiftRight<16>(x)), hn::Set(d, DropoutStream::kFirst));
    x = hn::Mul(hn::Xor(x, hn::ShiftRight<15>(x)), hn::Set(d, DropoutStream::kSecond));
    return hn::Xor(x, hn::ShiftRight<16>(x));
  }

  // A vector of rows that begins with `first`.
  HWY_ATTR HWY_INLINE VU rows(std::int64_t first) const {
    const DU d;
    const VU row = hn::Iota(d, static_cast<std::uint32_t>(first));
    return mix(hn::Xor(row, hn::Set(d, stream.row_key())));
  }

  // Which of these rows drop a column.
  HWY_ATTR HWY_INLINE hn::Mask<D> drops(VU rows, std::int64_t column) const {
    const DU du;
    const DI di;
    const VU bits = mix(hn::Xor(rows, hn::Set(du, stream.column_bits(column))));
    return hn::RebindMask(D(), hn::Lt(hn::BitCast(di, bits), hn::Set(di, stream.threshold())));
  }
};

// weights (keys, kV vectors of queries): 0 where dropped.
template <int kV>
HWY_ATTR void drop_weights(const DropoutStream& stream, std::int64_t first_query, std::int64_t first_key,
                           std::int64_t keys, float* weights) {
  if (!stream.drops_any()) return;
  const D d;
  const DropoutLanes dropout(stream);
  for (int v = 0; v < kV; ++v) {
    const VU rows = dropout.rows(first_query + v * lanes());
    for (std::int64_t j = 0; j < keys; ++j) {
      float* const at = weights + (j * kV + v) * lanes();
      hn::Store(hn::IfThenZeroElse(dropout.drops(rows, first_key + j), hn::Load(d, at)), d, at);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#endif  // ATTEND_KERNELS_SIMD_DROPOUT_INL_H_
