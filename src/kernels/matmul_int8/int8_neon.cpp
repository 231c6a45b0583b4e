#include "kernels/matmul_int8/int8_tile.h"

#if defined(__aarch64__)

#include <arm_neon.h>

#include <algorithm>

namespace attend::kernels {
namespace {

void keep(float* to, int32x4_t sum, const float* scales, bool add) noexcept {
  const float32x4_t scaled = vmulq_f32(vcvtq_f32_s32(sum), vld1q_f32(scales));
  vst1q_f32(to, add ? vaddq_f32(vld1q_f32(to), scaled) : scaled);
}

// Rows times half a panel: products of 16 bits, which do not overflow (128 * 127), are added in pairs to
// sums of 32, so that a column has two of them until the end of a block.
template <int kR>
void multiply_half_panel(const Int8Tile& tile, std::int64_t column) noexcept {
  constexpr int kV = 4;
  const auto* a = static_cast<const char*>(tile.a);
  const std::int8_t* b = tile.b + column * kInt8Group;
  for (std::int64_t first = 0; first < tile.groups; first += kInt8BlockGroups) {
    const std::int64_t groups = std::min(kInt8BlockGroups, tile.groups - first);
    int32x4_t sums[kR][kV];
#pragma GCC unroll 8
    for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < kV; ++v) sums[r][v] = vdupq_n_s32(0);
    }
    for (std::int64_t i = 0; i < groups; ++i) {
      int8x8_t line[kV];
#pragma GCC unroll 4
      for (int v = 0; v < kV; ++v) line[v] = vld1_s8(b + i * kInt8Line + v * 8);
#pragma GCC unroll 8
      for (int r = 0; r < kR; ++r) {
        std::int32_t four;
        __builtin_memcpy(&four, a + r * tile.a_row + i * kInt8Group, sizeof(four));
        const int8x8_t x = vreinterpret_s8_s32(vdup_n_s32(four));
#pragma GCC unroll 4
        for (int v = 0; v < kV; ++v) sums[r][v] = vpadalq_s16(sums[r][v], vmull_s8(line[v], x));
      }
    }
    const auto* const scales =
        reinterpret_cast<const float*>(tile.b + int8_scales_line(first, tile.groups)) + column;
#pragma GCC unroll 8
    for (int r = 0; r < kR; ++r) {
      float* const out = tile.sums + r * 16 + column;
      keep(out, vpaddq_s32(sums[r][0], sums[r][1]), scales, first > 0);
      keep(out + 4, vpaddq_s32(sums[r][2], sums[r][3]), scales + 4, first > 0);
    }
    a += groups * kInt8Group;
    b += (groups + 1) * kInt8Line;
  }
}

template <int kR>
void multiply_neon(const Int8Tile& tile) noexcept {
  if constexpr (kR > 1) {
    if (tile.rows < kR) return multiply_neon<kR - 1>(tile);
  }
  multiply_half_panel<kR>(tile, 0);
  multiply_half_panel<kR>(tile, 8);
}

}  // namespace

const Int8Kernel kInt8Neon{Int8Form::s8, 5, 1, multiply_neon<5>};

}  // namespace attend::kernels

#endif
