#include "kernels/matmul_int8/int8_tile.h"

#if defined(__x86_64__)

#include <hwy/base.h>
#include <immintrin.h>

HWY_PUSH_ATTRIBUTES("avx2,avxvnni")
namespace attend::kernels {
namespace {
namespace avx_vnni {

struct Vector {
  using Register = __m256i;
  static constexpr int kBytes = 32;
  static Register set(std::int32_t x) { return _mm256_set1_epi32(x); }
  static Register load(const std::int8_t* from) {
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(from));
  }
  static void keep(Register sum, const float* scales, const float* before, float* to) {
    const __m256 scaled = _mm256_mul_ps(_mm256_cvtepi32_ps(sum), _mm256_load_ps(scales));
    _mm256_store_ps(to, _mm256_add_ps(_mm256_load_ps(before), scaled));
  }
  // As in int8_avx512_vnni.cpp.
  static Register add_products(Register sum, Register a, Register b) {
    asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(a), "x"(b));
    return sum;
  }
};

#include "kernels/matmul_int8/vnni_tile-inl.h"

}  // namespace avx_vnni
}  // namespace

// 12 of 16 registers hold sums; two are a panel.
const Int8Kernel kInt8AvxVnni{Int8Form::u8, 6, 1, avx_vnni::multiply_vnni_sized<6, 2>};

}  // namespace attend::kernels
HWY_POP_ATTRIBUTES

#endif
