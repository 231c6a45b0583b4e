// Tiles of AMX: eight registers of 16 rows of 64 bytes, and products of them. One multiplies 16 rows of 32
// bf16 numbers (or 64 of 8 bits) by 16 columns and adds to 16 x 16 sums. Such functions may only be called
// where has_extension(Extension::amx) says so.
//
// Written as instructions, not by the compilers' intrinsics: those of gcc 12 do not say that they read and
// write memory, and vector stores may then pass them. amx_twin-inl.h has all of it in software.
#if defined(ATTEND_KERNELS_SIMD_AMX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_SIMD_AMX_INL_H_
#undef ATTEND_KERNELS_SIMD_AMX_INL_H_
#else
#define ATTEND_KERNELS_SIMD_AMX_INL_H_
#endif

#include "kernels/simd/bf16_pairs-inl.h"

// The instruction sets to which tiles are added: those with AVX512-BF16, which rounds what goes into them.
#undef ATTEND_AMX
#if ATTEND_BF16_PAIRS && defined(__x86_64__)
#define ATTEND_AMX 1
#else
#define ATTEND_AMX 0
#endif

// The same for code outside any target's namespace.
#undef ATTEND_AMX_TARGETS
#if HWY_TARGETS & ATTEND_BF16_TARGETS && defined(__x86_64__)
#define ATTEND_AMX_TARGETS 1
#else
#define ATTEND_AMX_TARGETS 0
#endif

#if ATTEND_AMX

// Functions between these two, and lambdas with ATTEND_AMX_ATTR, may use them.
#undef ATTEND_BEFORE_AMX
#undef ATTEND_AFTER_AMX
#undef ATTEND_AMX_ATTR
#define ATTEND_AMX_FEATURES ",avx512bf16,amx-tile,amx-bf16,amx-int8"
#define ATTEND_BEFORE_AMX() HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ATTEND_AMX_FEATURES) static_assert(true)
#define ATTEND_AFTER_AMX() HWY_POP_ATTRIBUTES static_assert(true)
#define ATTEND_AMX_ATTR __attribute__((target(HWY_TARGET_STR ATTEND_AMX_FEATURES)))

ATTEND_BEFORE_AMX();
namespace attend::kernels {
namespace HWY_NAMESPACE {

constexpr std::int64_t kTileRows = 16;
constexpr std::int64_t kTileBytes = 64;  // of a row

#if ATTEND_AMX_TWIN
#include "kernels/simd/amx_twin-inl.h"
#else

// All eight tiles in full size, for this thread and as long as this lives. In every call anew: another
// library on the same thread may have let go of them. Released tiles are not saved when threads change.
class TileScope {
 public:
  HWY_INLINE TileScope() {
    struct alignas(64) Configuration {
      std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
      std::uint16_t row_bytes[16] = {};
      std::uint8_t rows[16] = {};
    } wanted;
    for (int t = 0; t < 8; ++t) {
      wanted.row_bytes[t] = kTileBytes;
      wanted.rows[t] = kTileRows;
    }
    asm volatile("ldtilecfg %0" ::"m"(wanted));
  }
  HWY_INLINE ~TileScope() { asm volatile("tilerelease" :::); }
  TileScope(const TileScope&) = delete;
  TileScope& operator=(const TileScope&) = delete;
};

template <int kTile>
HWY_INLINE void tile_zero() {
  asm volatile("tilezero %%tmm%c0" ::"i"(kTile));
}

// 16 rows that are `stride` bytes apart.
template <int kTile>
HWY_INLINE void tile_load(const void* rows, std::int64_t stride) {
  asm volatile("tileloadd (%1,%2,1), %%tmm%c0" ::"i"(kTile), "r"(rows), "r"(stride) : "memory");
}
template <int kTile>
HWY_INLINE void tile_store(void* rows, std::int64_t stride) {
  asm volatile("tilestored %%tmm%c0, (%1,%2,1)" ::"i"(kTile), "r"(rows), "r"(stride) : "memory");
}

// sum (16, 16) += a (16, 32) b (32, 16) of bf16 numbers; b is woven in pairs of rows. Even and odd places are
// summed apart, in order, and then added to each other and to the sum; subnormal numbers count as 0.
template <int kSum, int kA, int kB>
HWY_INLINE void tile_multiply_bf16() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSum), "i"(kA), "i"(kB));
}

// sum (16, 16) += a (16, 64) b (64, 16), exact: a of whole numbers with or without a sign (kSigned), b with a
// sign, woven in fours of rows.
template <int kSum, int kA, int kB, bool kSigned>
HWY_INLINE void tile_multiply_int8() {
  if constexpr (kSigned) {
    asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSum), "i"(kA), "i"(kB));
  } else {
    asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSum), "i"(kA), "i"(kB));
  }
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
ATTEND_AFTER_AMX();

#endif  // ATTEND_AMX

#endif  // ATTEND_KERNELS_SIMD_AMX_INL_H_
