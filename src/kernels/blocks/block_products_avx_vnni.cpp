// AVX-VNNI, which processors without AVX-512 have: 8 columns at once; 8 of 16 registers hold numbers.
#include "kernels/blocks/block_products.h"

#if defined(__x86_64__)

#include <hwy/base.h>
#include <immintrin.h>

HWY_PUSH_ATTRIBUTES("avx2,avxvnni,fma,f16c")
namespace attend::kernels {
namespace {
namespace avx_vnni_blocks {

struct Vector {
  using Bytes = __m256i;
  using Sums = __m256i;
  using Floats = __m256;
  static constexpr std::int64_t kColumns = 8;
  static constexpr int kVectors = 4;
  static constexpr bool kSigned = false;

  static Bytes load(const std::byte* from) {
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(from));
  }
  static Bytes bytes(int x) { return _mm256_set1_epi8(static_cast<char>(x)); }
  static Bytes four_bytes(std::int32_t x) { return _mm256_set1_epi32(x); }
  static Bytes bit_and(Bytes a, Bytes b) { return _mm256_and_si256(a, b); }
  static Bytes bit_or(Bytes a, Bytes b) { return _mm256_or_si256(a, b); }
  static Bytes exclusive_or(Bytes a, Bytes b) { return _mm256_xor_si256(a, b); }
  template <int kBits>
  static Bytes shift_left(Bytes x) {
    return _mm256_slli_epi16(x, kBits);
  }
  template <int kBits>
  static Bytes shift_right(Bytes x) {
    return _mm256_srli_epi16(x, kBits);
  }
  static Sums sums(std::int32_t x) { return _mm256_set1_epi32(x); }
  static Sums add(Sums a, Sums b) { return _mm256_add_epi32(a, b); }
  static Sums dot(Sums sum, Bytes numbers, Bytes four) { return _mm256_dpbusd_avx_epi32(sum, numbers, four); }
  static Floats as_floats(Sums x) { return _mm256_cvtepi32_ps(x); }
  static Floats floats(float x) { return _mm256_set1_ps(x); }
  static Floats multiply(Floats a, Floats b) { return _mm256_mul_ps(a, b); }
  static Floats multiply_add(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }
  static Floats negative(Floats x) { return _mm256_sub_ps(_mm256_setzero_ps(), x); }
  static Floats halves(const std::byte* from) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
  static Floats unsigned_bytes(const std::byte* from) {
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
  }
  static Floats signed_bytes(const std::byte* from) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
  }
  static void store(float* to, Floats x) { _mm256_store_ps(to, x); }
};

#include "kernels/blocks/block_dot-inl.h"

}  // namespace avx_vnni_blocks
}  // namespace

void panel_products_avx_vnni(const PanelProducts& products) noexcept {
  avx_vnni_blocks::multiply_panel(products);
}

}  // namespace attend::kernels
HWY_POP_ATTRIBUTES

#endif
