// AVX-512 with VNNI: 16 columns at once; 8 registers of numbers, 8 of sums and 8 of products.
#include "kernels/blocks/block_products.h"

#if defined(__x86_64__)

#include <hwy/base.h>

// gcc 12 takes the unused registers of its own intrinsics for variables that nobody has set (its bug 105593).
#if !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#if !defined(__clang__)
#pragma GCC diagnostic pop
#endif

HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")
namespace attend::kernels {
namespace {
namespace avx512_vnni_blocks {

struct Vector {
  using Bytes = __m512i;
  using Sums = __m512i;
  using Floats = __m512;
  static constexpr std::int64_t kColumns = 16;
  static constexpr int kVectors = 8;
  static constexpr bool kSigned = false;

  static Bytes load(const std::byte* from) { return _mm512_load_si512(from); }
  static Bytes bytes(int x) { return _mm512_set1_epi8(static_cast<char>(x)); }
  static Bytes four_bytes(std::int32_t x) { return _mm512_set1_epi32(x); }
  static Bytes bit_and(Bytes a, Bytes b) { return _mm512_and_si512(a, b); }
  static Bytes bit_or(Bytes a, Bytes b) { return _mm512_or_si512(a, b); }
  static Bytes exclusive_or(Bytes a, Bytes b) { return _mm512_xor_si512(a, b); }
  template <int kBits>
  static Bytes shift_left(Bytes x) {
    return _mm512_slli_epi16(x, kBits);
  }
  template <int kBits>
  static Bytes shift_right(Bytes x) {
    return _mm512_srli_epi16(x, kBits);
  }
  static Sums sums(std::int32_t x) { return _mm512_set1_epi32(x); }
  static Sums add(Sums a, Sums b) { return _mm512_add_epi32(a, b); }
  static Sums dot(Sums sum, Bytes numbers, Bytes four) { return _mm512_dpbusd_epi32(sum, numbers, four); }
  static Floats as_floats(Sums x) { return _mm512_cvtepi32_ps(x); }
  static Floats floats(float x) { return _mm512_set1_ps(x); }
  static Floats multiply(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
  static Floats multiply_add(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
  static Floats negative(Floats x) { return _mm512_sub_ps(_mm512_setzero_ps(), x); }
  static Floats halves(const std::byte* from) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  }
  static Floats unsigned_bytes(const std::byte* from) {
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
  }
  static Floats signed_bytes(const std::byte* from) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
  }
  static void store(float* to, Floats x) { _mm512_store_ps(to, x); }
};

#include "kernels/blocks/block_dot-inl.h"

}  // namespace avx512_vnni_blocks
}  // namespace

void panel_products_vnni(const PanelProducts& products) noexcept {
  avx512_vnni_blocks::multiply_panel(products);
}

}  // namespace attend::kernels
HWY_POP_ATTRIBUTES

#endif
