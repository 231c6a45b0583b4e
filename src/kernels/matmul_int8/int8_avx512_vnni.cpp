#include "kernels/matmul_int8/int8_tile.h"

#if defined(__x86_64__)

#include <hwy/base.h>
#include <immintrin.h>

HWY_PUSH_ATTRIBUTES("avx512f,avx512vnni")
namespace attend::kernels {
namespace {
namespace avx512_vnni {

struct Vector {
  using Register = __m512i;
  static constexpr int kBytes = 64;
  static Register set(std::int32_t x) { return _mm512_set1_epi32(x); }
  static Register load(const std::int8_t* from) { return _mm512_load_si512(from); }
  static void store(std::int32_t* to, Register x) { _mm512_store_si512(to, x); }
  static Register add_products(Register sum, Register a, Register b) {
    return _mm512_dpbusd_epi32(sum, a, b);
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
