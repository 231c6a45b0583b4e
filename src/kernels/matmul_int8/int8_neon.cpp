#include "kernels/matmul_int8/int8_tile.h"

#if defined(__aarch64__)

#include <arm_neon.h>

namespace attend::kernels {
namespace {

// Rows times half a panel: products of 16 bits, which do not overflow (128 * 127), are added in pairs to
// sums of 32, so that a column has two of them until the end.
template <int kR>
void multiply_half_panel(const Int8Tile& tile, const std::int8_t* b, std::int32_t* out) noexcept {
  constexpr int kV = 4;
  int32x4_t sums[kR][kV];
#pragma GCC unroll 8
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kV; ++v) sums[r][v] = vdupq_n_s32(0);
  }
  const auto* const a = static_cast<const char*>(tile.a);
  for (std::int64_t i = 0; i < tile.groups; ++i) {
    int8x8_t line[kV];
#pragma GCC unroll 4
    for (int v = 0; v < kV; ++v) line[v] = vld1_s8(b + i * 64 + v * 8);
#pragma GCC unroll 8
    for (int r = 0; r < kR; ++r) {
      std::int32_t four;
      __builtin_memcpy(&four, a + r * tile.a_row + i * kInt8Group, sizeof(four));
      const int8x8_t x = vreinterpret_s8_s32(vdup_n_s32(four));
#pragma GCC unroll 4
      for (int v = 0; v < kV; ++v) sums[r][v] = vpadalq_s16(sums[r][v], vmull_s8(line[v], x));
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kR; ++r) {
    vst1q_s32(out + r * 16, vpaddq_s32(sums[r][0], sums[r][1]));
    vst1q_s32(out + r * 16 + 4, vpaddq_s32(sums[r][2], sums[r][3]));
  }
}

template <int kR>
void multiply_neon(const Int8Tile& tile) noexcept {
  if constexpr (kR > 1) {
    if (tile.rows < kR) return multiply_neon<kR - 1>(tile);
  }
  multiply_half_panel<kR>(tile, tile.b, tile.sums);
  multiply_half_panel<kR>(tile, tile.b + 32, tile.sums + 8);
}

}  // namespace

const Int8Kernel kInt8Neon{Int8Form::s8, 5, 1, multiply_neon<5>};

}  // namespace attend::kernels

#endif
