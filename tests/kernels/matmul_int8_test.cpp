// The tiles of the product in whole numbers, each against the plain sum.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/matmul_int8/matmul_int8.h"
#include "support/each_isa.h"

#if defined(__x86_64__)
#include <hwy/base.h>
#include <immintrin.h>

// The 256-bit form of vpdpbusd belongs to processors without AVX-512; this is its twin on those with it, so
// that the code around it runs here.
HWY_PUSH_ATTRIBUTES("avx2,avx512f,avx512vl,avx512vnni")
namespace attend::kernels {
namespace {
namespace avx512_vnni_256 {

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
  static Register add_products(Register sum, Register a, Register b) {
    return _mm256_dpbusd_epi32(sum, a, b);
  }
};

#include "kernels/matmul_int8/vnni_tile-inl.h"

constexpr Int8Kernel kTwin{Int8Form::u8, 6, 1, multiply_vnni_sized<6, 2>};

}  // namespace avx512_vnni_256
}  // namespace
}  // namespace attend::kernels
HWY_POP_ATTRIBUTES
#endif

namespace attend::kernels {
namespace {

class Int8Tiles : public EachIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, Int8Tiles, testing::ValuesIn(available_isas(Precision::int8)), isa_name);

// Numbers of the whole range, the ends among them.
std::int32_t number(Int8Form form, std::int64_t i) {
  const auto q = static_cast<std::int32_t>(i % 7 == 0 ? 255 : i * 37 % 256);
  return form == Int8Form::s8 ? q - 128 : q;
}

// Of a block and a column: powers of two, so that sums of what they scale are exact as well.
float scale_of(std::int64_t block, std::int64_t column) {
  return std::ldexp(1.0F, static_cast<int>(-(block + column) % 4));
}

void expect_exact_sums(const Int8Kernel& kernel, std::int64_t groups) {
  const std::int64_t depth = groups * kInt8Group, panel = int8_panel_bytes(groups);
  constexpr std::int64_t kRow = 704, kMostPanel = 100 * kInt8Line;
  alignas(64) static char a[kMostInt8Rows * kRow];
  alignas(64) static std::int8_t b[kMostInt8Panels * kMostPanel];
  ASSERT_LE(panel, kMostPanel);
  for (std::int64_t r = 0; r < kernel.rows; ++r) {
    for (std::int64_t i = 0; i < depth; ++i) {
      const std::int32_t q = number(kernel.form, r * depth + i);
      const auto byte = static_cast<std::int8_t>(q);
      const auto word = static_cast<std::int16_t>(q);
      if (kernel.form == Int8Form::s16) {
        std::memcpy(a + r * kRow + 2 * i, &word, 2);
      } else {
        std::memcpy(a + r * kRow + i, &byte, 1);
      }
    }
  }
  for (std::int64_t i = 0; i < kernel.panels * panel; ++i)
    b[i] = static_cast<std::int8_t>(i % 5 == 0 ? -127 : i * 29 % 255 - 127);
  for (std::int64_t c = 0; c < kernel.panels * 16; ++c) {
    for (std::int64_t block = 0; block < int8_blocks(groups); ++block) {
      const float scale = scale_of(block, c);
      std::memcpy(b + c / 16 * panel + int8_scales_line(block * kInt8BlockGroups, groups) + c % 16 * 4,
                  &scale, 4);
    }
  }
  for (std::int64_t rows = 1; rows <= kernel.rows; ++rows) {
    for (std::int64_t panels = 1; panels <= kernel.panels; ++panels) {
      alignas(64) float sums[kMostInt8Rows * kMostInt8Panels * 16];
      Int8Tile tile;
      tile.rows = rows;
      tile.panels = panels;
      tile.groups = groups;
      tile.a = a;
      tile.a_row = kRow;
      tile.b = b;
      tile.ahead = rows % 2 == 0 ? b : nullptr;
      tile.sums = sums;
      kernel.multiply(tile);
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t c = 0; c < panels * 16; ++c) {
          double expected = 0;
          for (std::int64_t i = 0; i < depth; ++i) {
            const std::int64_t group = i / kInt8Group;
            expected += static_cast<double>(scale_of(group / kInt8BlockGroups, c)) *
                        number(kernel.form, r * depth + i) *
                        b[c / 16 * panel + int8_line(group) + c % 16 * 4 + i % kInt8Group];
          }
          ASSERT_EQ(static_cast<double>(sums[r * panels * 16 + c]), expected)
              << groups << ' ' << rows << ' ' << panels << ' ' << r << ' ' << c;
        }
      }
    }
  }
}

// A part of a block, whole ones, and some with a part after them.
void expect_exact_sums(const Int8Kernel& kernel) {
  for (const std::int64_t groups : {19, 32, 64, 83}) expect_exact_sums(kernel, groups);
}

TEST_P(Int8Tiles, SumsAreExact) {
  expect_exact_sums(int8_kernel());
#if defined(__x86_64__)
  if (GetParam() == "avx512_vnni") expect_exact_sums(avx512_vnni_256::kTwin);
#endif
}

}  // namespace
}  // namespace attend::kernels
