#include "kernels/matmul_int8/int8_tile.h"

#if defined(__aarch64__)

#include <arm_neon.h>
#include <hwy/base.h>

HWY_PUSH_ATTRIBUTES("arch=armv8.2-a+dotprod")
namespace attend::kernels {
namespace {
namespace neon_dot {

// Rows times one panel, which is four registers; sdot multiplies four bytes with four in each lane of 32 bits
// and adds the products up.
template <int kR>
void multiply_dot(const Int8Tile& tile) noexcept {
  if constexpr (kR > 1) {
    if (tile.rows < kR) return multiply_dot<kR - 1>(tile);
  }
  constexpr int kV = 4;
  const auto* a = static_cast<const char*>(tile.a);
  const std::int8_t* b = tile.b;
  for (std::int64_t first = 0; first < tile.groups; first += kInt8BlockGroups) {
    const std::int64_t left = tile.groups - first, groups = left < kInt8BlockGroups ? left : kInt8BlockGroups;
    int32x4_t sums[kR][kV];
#pragma GCC unroll 8
    for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < kV; ++v) sums[r][v] = vdupq_n_s32(0);
    }
    for (std::int64_t i = 0; i < groups; ++i) {
      int8x16_t line[kV];
#pragma GCC unroll 4
      for (int v = 0; v < kV; ++v) line[v] = vld1q_s8(b + i * kInt8Line + v * 16);
#pragma GCC unroll 8
      for (int r = 0; r < kR; ++r) {
        std::int32_t four;
        __builtin_memcpy(&four, a + r * tile.a_row + i * kInt8Group, sizeof(four));
        const int8x16_t x = vreinterpretq_s8_s32(vdupq_n_s32(four));
#pragma GCC unroll 4
        for (int v = 0; v < kV; ++v) sums[r][v] = vdotq_s32(sums[r][v], line[v], x);
      }
    }
    const auto* const scales = reinterpret_cast<const float*>(b + groups * kInt8Line);
#pragma GCC unroll 8
    for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < kV; ++v) {
        float* const out = tile.sums + r * 16 + v * 4;
        const float32x4_t scaled = vmulq_f32(vcvtq_f32_s32(sums[r][v]), vld1q_f32(scales + v * 4));
        vst1q_f32(out, first > 0 ? vaddq_f32(vld1q_f32(out), scaled) : scaled);
      }
    }
    a += groups * kInt8Group;
    b += (groups + 1) * kInt8Line;
  }
}

}  // namespace neon_dot
}  // namespace

// 20 of 32 registers hold sums; the fifth row more would spill, as in f32.
const Int8Kernel kInt8NeonDot{Int8Form::s8, 5, 1, neon_dot::multiply_dot<5>};

}  // namespace attend::kernels
HWY_POP_ATTRIBUTES

#endif
