// The tile of the product in whole numbers on tiles of AMX: 64 steps of the depth at once. Two tiles of rows
// by two panels are summed together, in parts of the depth whose panels the first-level cache holds.
#include "kernels/matmul_int8/int8_tile.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul_int8/int8_amx.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd/amx-inl.h"

#if ATTEND_AMX
ATTEND_BEFORE_AMX();
namespace attend::kernels {
namespace HWY_NAMESPACE {

constexpr std::int64_t kGroupsOfTile = kTileBytes / kInt8Group, kTileSize = kTileRows * kTileBytes;
constexpr std::int64_t kStepsOfPart = 12;  // of 64 rows of b: two panels of them are 24 KiB

struct Int8Part {
  std::int64_t steps = 0, a_row = 0, width = 0;
  const char* a[2] = {};
  const std::int8_t* b[2] = {};
  const std::int8_t* b_last[2] = {};  // what stands for the last tiles of b, or null
  bool add = false;
};

template <int kR, int kC>
HWY_INLINE void multiply_int8_step(const Int8Part& part, std::int64_t s, const std::int8_t* b0,
                                   const std::int8_t* b1) {
  tile_load<4>(part.a[0] + s * kTileBytes, part.a_row);
  tile_load<6>(b0, kTileBytes);
  tile_multiply_int8<0, 4, 6, false>();
  if constexpr (kC > 1) {
    tile_load<7>(b1, kTileBytes);
    tile_multiply_int8<1, 4, 7, false>();
  }
  if constexpr (kR > 1) {
    tile_load<5>(part.a[1] + s * kTileBytes, part.a_row);
    tile_multiply_int8<2, 5, 6, false>();
    if constexpr (kC > 1) tile_multiply_int8<3, 5, 7, false>();
  }
}

template <int kR, int kC>
HWY_INLINE void multiply_int8_part(const Int8Part& part, std::int32_t* sums) {
  const std::int64_t stride = part.width * static_cast<std::int64_t>(sizeof(std::int32_t));
  std::int32_t* const below = sums + kTileRows * part.width;
  if (part.add) {
    tile_load<0>(sums, stride);
    if constexpr (kC > 1) tile_load<1>(sums + 16, stride);
    if constexpr (kR > 1) tile_load<2>(below, stride);
    if constexpr (kR > 1 && kC > 1) tile_load<3>(below + 16, stride);
  } else {
    tile_zero<0>();
    if constexpr (kC > 1) tile_zero<1>();
    if constexpr (kR > 1) tile_zero<2>();
    if constexpr (kR > 1 && kC > 1) tile_zero<3>();
  }
  const std::int64_t whole = part.b_last[0] != nullptr ? part.steps - 1 : part.steps;
  for (std::int64_t s = 0; s < whole; ++s)
    multiply_int8_step<kR, kC>(part, s, part.b[0] + s * kTileSize, part.b[1] + s * kTileSize);
  if (whole < part.steps) multiply_int8_step<kR, kC>(part, whole, part.b_last[0], part.b_last[1]);
  tile_store<0>(sums, stride);
  if constexpr (kC > 1) tile_store<1>(sums + 16, stride);
  if constexpr (kR > 1) tile_store<2>(below, stride);
  if constexpr (kR > 1 && kC > 1) tile_store<3>(below + 16, stride);
}

inline void multiply_int8_tiles(const Int8Tile& tile) noexcept {
  const TileScope tiles;
  const bool two_panels = tile.panels > 1;
  const std::int64_t steps = (tile.groups + kGroupsOfTile - 1) / kGroupsOfTile;
  const std::int64_t panel = tile.groups * kTileBytes, lines_of_last = tile.groups % kGroupsOfTile;
  const std::int8_t* const b0 = tile.b;
  const std::int8_t* const b1 = two_panels ? b0 + panel : b0;
  // What follows the depth in a row of a is multiplied by these zeros.
  HWY_ALIGN std::int8_t last[2][kTileSize];
  if (lines_of_last != 0) {
    const auto bytes = static_cast<std::size_t>(lines_of_last * kTileBytes);
    std::memset(last, 0, sizeof(last));
    std::memcpy(last[0], b0 + panel - bytes, bytes);
    std::memcpy(last[1], b1 + panel - bytes, bytes);
  }
  Int8Part part;
  part.a_row = tile.a_row;
  part.width = tile.panels * 16;
  if (tile.ahead != nullptr) {
    for (std::int64_t i = 0; i < tile.panels * panel; i += kTileBytes)
      __builtin_prefetch(tile.ahead + i, 0, 2);
  }
  std::int64_t s = 0;
  do {
    part.steps = std::min(kStepsOfPart, steps - s);
    part.add = s > 0;
    part.b[0] = b0 + s * kTileSize;
    part.b[1] = b1 + s * kTileSize;
    const bool ends_within = s + part.steps == steps && lines_of_last != 0;
    part.b_last[0] = ends_within ? last[0] : nullptr;
    part.b_last[1] = ends_within ? last[1] : nullptr;
    for (std::int64_t r = 0; r < tile.rows; r += 2 * kTileRows) {
      const bool two_rows = tile.rows - r > kTileRows;
      part.a[0] = static_cast<const char*>(tile.a) + r * tile.a_row + s * kTileBytes;
      part.a[1] = two_rows ? part.a[0] + kTileRows * tile.a_row : part.a[0];
      std::int32_t* const sums = tile.sums + r * part.width;
      if (two_rows) {
        two_panels ? multiply_int8_part<2, 2>(part, sums) : multiply_int8_part<2, 1>(part, sums);
      } else {
        two_panels ? multiply_int8_part<1, 2>(part, sums) : multiply_int8_part<1, 1>(part, sums);
      }
    }
    s += part.steps;
  } while (s < steps);
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
ATTEND_AFTER_AMX();
#endif  // ATTEND_AMX

#if HWY_ONCE && defined(__x86_64__)
namespace attend::kernels {

#if HWY_TARGETS & ATTEND_BF16_TARGETS
const Int8Kernel kInt8Amx{Int8Form::u8, 64, 2, bf16_set::multiply_int8_tiles};
#else
const Int8Kernel kInt8Amx{Int8Form::u8, 64, 2, nullptr};  // never chosen: no instruction set has tiles
#endif

}  // namespace attend::kernels
#endif
