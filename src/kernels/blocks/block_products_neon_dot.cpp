// ARM with sdot: 4 columns at once; of 32 registers 8 hold numbers and 8 sums.
#include "kernels/blocks/block_products.h"

#if defined(__aarch64__)

#include <arm_neon.h>
#include <hwy/base.h>

HWY_PUSH_ATTRIBUTES("arch=armv8.2-a+dotprod")
namespace attend::kernels {
namespace {
namespace neon_dot_blocks {

struct Vector {
  using Bytes = uint8x16_t;
  using Sums = int32x4_t;
  using Floats = float32x4_t;
  static constexpr std::int64_t kColumns = 4;
  static constexpr int kVectors = 8;
  static constexpr bool kSigned = true;

  static Bytes load(const std::byte* from) { return vld1q_u8(reinterpret_cast<const std::uint8_t*>(from)); }
  static Bytes bytes(int x) { return vdupq_n_u8(static_cast<std::uint8_t>(x)); }
  static Bytes four_bytes(std::int32_t x) { return vreinterpretq_u8_s32(vdupq_n_s32(x)); }
  static Bytes bit_and(Bytes a, Bytes b) { return vandq_u8(a, b); }
  static Bytes bit_or(Bytes a, Bytes b) { return vorrq_u8(a, b); }
  static Bytes exclusive_or(Bytes a, Bytes b) { return veorq_u8(a, b); }
  template <int kBits>
  static Bytes shift_left(Bytes x) {
    return vshlq_n_u8(x, kBits);
  }
  template <int kBits>
  static Bytes shift_right(Bytes x) {
    return vshrq_n_u8(x, kBits);
  }
  static Sums sums(std::int32_t x) { return vdupq_n_s32(x); }
  static Sums add(Sums a, Sums b) { return vaddq_s32(a, b); }
  static Sums dot(Sums sum, Bytes numbers, Bytes four) {
    return vdotq_s32(sum, vreinterpretq_s8_u8(numbers), vreinterpretq_s8_u8(four));
  }
  static Floats as_floats(Sums x) { return vcvtq_f32_s32(x); }
  static Floats floats(float x) { return vdupq_n_f32(x); }
  static Floats multiply(Floats a, Floats b) { return vmulq_f32(a, b); }
  static Floats multiply_add(Floats a, Floats b, Floats c) { return vfmaq_f32(c, a, b); }
  static Floats negative(Floats x) { return vnegq_f32(x); }
  static Floats halves(const std::byte* from) {
    return vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(reinterpret_cast<const std::uint8_t*>(from))));
  }
  static Floats unsigned_bytes(const std::byte* from) {
    std::uint32_t four;
    __builtin_memcpy(&four, from, sizeof(four));
    const uint16x8_t wide = vmovl_u8(vreinterpret_u8_u32(vdup_n_u32(four)));
    return vcvtq_f32_u32(vmovl_u16(vget_low_u16(wide)));
  }
  static Floats signed_bytes(const std::byte* from) {
    std::int32_t four;
    __builtin_memcpy(&four, from, sizeof(four));
    const int16x8_t wide = vmovl_s8(vreinterpret_s8_s32(vdup_n_s32(four)));
    return vcvtq_f32_s32(vmovl_s16(vget_low_s16(wide)));
  }
  static void store(float* to, Floats x) { vst1q_f32(to, x); }
};

#include "kernels/blocks/block_dot-inl.h"

}  // namespace neon_dot_blocks
}  // namespace

void panel_products_neon_dot(const PanelProducts& products) noexcept {
  neon_dot_blocks::multiply_panel(products);
}

}  // namespace attend::kernels
HWY_POP_ATTRIBUTES

#endif
