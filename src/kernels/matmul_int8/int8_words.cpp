// The tile by products of 16 bits, for x86 without VNNI: its instruction for products of bytes (vpmaddubsw)
// adds two of them in 16 bits, where 2 * 255 * 127 does not fit. Bytes of b are widened as they are loaded,
// once for all rows of a tile. In plain C++ for all else.
#include "kernels/matmul_int8/int8_tile.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul_int8/int8_words.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

// The two sums of each column, of two registers a row, scaled and added to `out`.
HWY_ATTR void add_pairs(int rows, const std::int32_t* pairs, const float* scales, bool add, float* out) {
  const D d;
  const DI di;
  const V scale = hn::LoadU(d, scales);
  for (int r = 0; r < rows; ++r) {
    const auto low = hn::Load(di, pairs + 2 * r * lanes()),
               high = hn::Load(di, pairs + (2 * r + 1) * lanes());
    const auto sum =
        hn::ConcatEven(di, hn::Add(high, hn::Shuffle2301(high)), hn::Add(low, hn::Shuffle2301(low)));
    const V scaled = hn::Mul(hn::ConvertTo(d, sum), scale);
    hn::StoreU(add ? hn::Add(hn::LoadU(d, out + r * 16), scaled) : scaled, d, out + r * 16);
  }
}

// Rows times two registers of b, through one block of the depth. A register of 16-bit numbers has four steps
// of each of its columns, so a column has two sums. Not inlined, and nothing but stores after its loop: gcc
// would copy eight of twelve sums at the end of each step for anything else, at half the speed.
template <int kR>
HWY_ATTR HWY_NOINLINE void add_up_block(const char* a, std::int64_t a_row, const std::int8_t* b,
                                        std::int64_t groups, const std::int8_t* ahead, std::int32_t* pairs) {
  constexpr int kV = 2;
  const hn::ScalableTag<std::int16_t> d16;
  const hn::Rebind<std::int8_t, decltype(d16)> d8;
  const hn::Repartition<std::int32_t, decltype(d16)> d32;
  const hn::Repartition<std::int64_t, decltype(d16)> d64;
  const std::size_t step = hn::Lanes(d16);
  hn::Vec<decltype(d32)> sums[kR][kV], unused = hn::Zero(d32);
#pragma GCC unroll 8
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kV; ++v) sums[r][v] = hn::Zero(d32);
  }
  for (std::int64_t i = 0; i < groups; ++i) {
    hn::Vec<decltype(d16)> line[kV];
#pragma GCC unroll 4
    for (int v = 0; v < kV; ++v)
      line[v] = hn::PromoteTo(d16, hn::LoadU(d8, b + i * kInt8Line + static_cast<std::size_t>(v) * step));
    if (ahead != nullptr) __builtin_prefetch(ahead + i * kInt8Line, 0, 2);
#pragma GCC unroll 8
    for (int r = 0; r < kR; ++r) {
      std::int64_t four;
      __builtin_memcpy(&four, a + r * a_row + i * 8, sizeof(four));
      const auto x = hn::BitCast(d16, hn::Set(d64, four));
#pragma GCC unroll 4
      for (int v = 0; v < kV; ++v)
        sums[r][v] = hn::ReorderWidenMulAccumulate(d32, x, line[v], sums[r][v], unused);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kV; ++v) hn::Store(sums[r][v], d32, pairs + (r * kV + v) * lanes());
  }
}

template <int kR>
HWY_ATTR void multiply_words(const Int8Tile& tile, const std::int8_t* b, const std::int8_t* ahead,
                             float* out) {
  const auto* a = static_cast<const char*>(tile.a);
  HWY_ALIGN std::int32_t pairs[kR * 2 * HWY_MAX_BYTES / sizeof(std::int32_t)];
  for (std::int64_t first = 0; first < tile.groups; first += kInt8BlockGroups) {
    const std::int64_t groups = std::min(kInt8BlockGroups, tile.groups - first);
    add_up_block<kR>(a, tile.a_row, b, groups, ahead, pairs);
    add_pairs(kR, pairs, reinterpret_cast<const float*>(b + groups * kInt8Line), first > 0, out);
    a += groups * 8;
    b += (groups + 1) * kInt8Line;
    if (ahead != nullptr) ahead += (groups + 1) * kInt8Line;
  }
}

template <int kR>
HWY_ATTR void multiply_rows(const Int8Tile& tile) {
  if constexpr (kR > 1) {
    if (tile.rows < kR) return multiply_rows<kR - 1>(tile);
  }
  for (std::int64_t column = 0; column < 16; column += lanes()) {
    multiply_words<kR>(tile, tile.b + column * kInt8Group, column == 0 ? tile.ahead : nullptr,
                       tile.sums + column);
  }
}

constexpr int kWordRows = 6;  // 12 of 16 registers hold sums

HWY_ATTR void multiply_tile(const Int8Tile& tile) { multiply_rows<kWordRows>(tile); }

#else

HWY_ATTR void multiply_tile(const Int8Tile& tile) {
  for (std::int64_t r = 0; r < tile.rows; ++r) {
    const auto* const a =
        reinterpret_cast<const std::int16_t*>(static_cast<const char*>(tile.a) + r * tile.a_row);
    float* const out = tile.sums + r * 16;
    for (std::int64_t first = 0; first < tile.groups; first += kInt8BlockGroups) {
      const std::int64_t last = std::min(first + kInt8BlockGroups, tile.groups);
      const auto* const scales =
          reinterpret_cast<const float*>(tile.b + int8_scales_line(first, tile.groups));
      std::int32_t sums[16] = {};
      for (std::int64_t i = first; i < last; ++i) {
        const std::int8_t* const line = tile.b + int8_line(i);
        for (int c = 0; c < 16; ++c) {
          for (int p = 0; p < kInt8Group; ++p) sums[c] += a[i * kInt8Group + p] * line[c * 4 + p];
        }
      }
      for (int c = 0; c < 16; ++c) {
        const float scaled = static_cast<float>(sums[c]) * scales[c];
        out[c] = first > 0 ? out[c] + scaled : scaled;
      }
    }
  }
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attend::kernels {
namespace {

HWY_EXPORT(multiply_tile);

void multiply_by_words(const Int8Tile& tile) noexcept { HWY_DYNAMIC_DISPATCH(multiply_tile)(tile); }

}  // namespace

const Int8Kernel kInt8Words{Int8Form::s16, 6, 1, multiply_by_words};

}  // namespace attend::kernels
#endif
