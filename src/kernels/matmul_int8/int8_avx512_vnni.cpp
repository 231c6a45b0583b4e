#include "kernels/matmul_int8/int8_tile.h"

#if defined(__x86_64__)

#include <hwy/base.h>

// gcc 12 takes the unused registers of its own intrinsics for variables that nobody has set (its bug 105593).
#if !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>
#if !defined(__clang__)
#pragma GCC diagnostic pop
#endif

HWY_PUSH_ATTRIBUTES("avx512f,avx512vnni")
namespace attend::kernels {
namespace {
namespace avx512_vnni {

struct Vector {
  using Register = __m512i;
  static constexpr int kBytes = 64;
  static Register set(std::int32_t x) { return _mm512_set1_epi32(x); }
  static Register load(const std::int8_t* from) { return _mm512_load_si512(from); }
  static void keep(Register sum, const float* scales, const float* before, float* to) {
    const __m512 scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), _mm512_load_ps(scales));
    _mm512_store_ps(to, _mm512_add_ps(_mm512_load_ps(before), scaled));
  }
  // Not the intrinsic: with it gcc 12 copies all sums in each step, in a loop within a loop.
  static Register add_products(Register sum, Register a, Register b) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
    return sum;
  }
};

#include "kernels/matmul_int8/vnni_tile-inl.h"

}  // namespace avx512_vnni
}  // namespace

// 24 of 32 registers hold sums, as in f32.
const Int8Kernel kInt8Avx512Vnni{Int8Form::u8, 8, 3, avx512_vnni::multiply_vnni_sized<8, 3>};

}  // namespace attend::kernels
HWY_POP_ATTRIBUTES

#endif
