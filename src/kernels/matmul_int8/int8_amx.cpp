// The tile of the product in whole numbers on tiles of AMX: 64 steps of the depth at once. Two tiles of rows
// by two panels are summed together, a block of the depth at a time.
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

// One block of the depth: the tiles of two panels, and of up to two times 16 rows.
struct Int8Part {
  std::int64_t steps = 0, a_row = 0;
  const char* a[2] = {};
  const std::int8_t* b[2] = {};
  const std::int8_t* b_last[2] = {};  // what stands for the last tiles of b, or null
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

// `sums` has rows of two panels.
constexpr std::int64_t kSumsRow = 2 * 16;

template <int kR, int kC>
HWY_INLINE void multiply_int8_part(const Int8Part& part, std::int32_t* sums) {
  constexpr std::int64_t kStride = kSumsRow * static_cast<std::int64_t>(sizeof(std::int32_t));
  std::int32_t* const below = sums + kTileRows * kSumsRow;
  tile_zero<0>();
  if constexpr (kC > 1) tile_zero<1>();
  if constexpr (kR > 1) tile_zero<2>();
  if constexpr (kR > 1 && kC > 1) tile_zero<3>();
  const std::int64_t whole = part.b_last[0] != nullptr ? part.steps - 1 : part.steps;
  for (std::int64_t s = 0; s < whole; ++s)
    multiply_int8_step<kR, kC>(part, s, part.b[0] + s * kTileSize, part.b[1] + s * kTileSize);
  if (whole < part.steps) multiply_int8_step<kR, kC>(part, whole, part.b_last[0], part.b_last[1]);
  tile_store<0>(sums, kStride);
  if constexpr (kC > 1) tile_store<1>(sums + 16, kStride);
  if constexpr (kR > 1) tile_store<2>(below, kStride);
  if constexpr (kR > 1 && kC > 1) tile_store<3>(below + 16, kStride);
}

// The sums of a block, scaled, to those of the tile.
HWY_INLINE void keep_int8_sums(const std::int32_t* sums, std::int64_t rows, std::int64_t panels,
                               const float* const* scales, bool add, float* out) {
  const D d;
  const DI di;
  for (std::int64_t j = 0; j < panels * 16; j += lanes()) {
    const V scale = hn::Load(d, scales[j / 16] + j % 16);
    for (std::int64_t r = 0; r < rows; ++r) {
      float* const to = out + r * panels * 16 + j;
      const V scaled = hn::Mul(hn::ConvertTo(d, hn::Load(di, sums + r * kSumsRow + j)), scale);
      hn::Store(add ? hn::Add(hn::Load(d, to), scaled) : scaled, d, to);
    }
  }
}

inline void multiply_int8_tiles(const Int8Tile& tile) noexcept {
  const TileScope tiles;
  const bool two_panels = tile.panels > 1;
  const std::int64_t panel = int8_panel_bytes(tile.groups);
  const std::int8_t* const b[2] = {tile.b, two_panels ? tile.b + panel : tile.b};
  if (tile.ahead != nullptr) {
    for (std::int64_t i = 0; i < tile.panels * panel; i += kTileBytes)
      __builtin_prefetch(tile.ahead + i, 0, 2);
  }
  HWY_ALIGN std::int32_t sums[2 * kTileRows * kSumsRow];
  HWY_ALIGN std::int8_t last[2][kTileSize];
  Int8Part part;
  part.a_row = tile.a_row;
  for (std::int64_t first = 0; first < tile.groups; first += kInt8BlockGroups) {
    const std::int64_t groups = std::min(kInt8BlockGroups, tile.groups - first);
    part.steps = (groups + kGroupsOfTile - 1) / kGroupsOfTile;
    const auto bytes = static_cast<std::size_t>(groups % kGroupsOfTile * kTileBytes);
    const float* scales[2];
    // What follows the depth in a row of a is multiplied by zeros.
    if (bytes != 0) std::memset(last, 0, sizeof(last));
    for (int p = 0; p < 2; ++p) {
      part.b[p] = b[p] + int8_line(first);
      const std::int8_t* const after = b[p] + int8_scales_line(first, tile.groups);
      scales[p] = reinterpret_cast<const float*>(after);
      if (bytes != 0) std::memcpy(last[p], after - bytes, bytes);
      part.b_last[p] = bytes != 0 ? last[p] : nullptr;
    }
    for (std::int64_t r = 0; r < tile.rows; r += 2 * kTileRows) {
      const bool two_rows = tile.rows - r > kTileRows;
      part.a[0] = static_cast<const char*>(tile.a) + r * tile.a_row + first * kInt8Group;
      part.a[1] = two_rows ? part.a[0] + kTileRows * tile.a_row : part.a[0];
      if (two_rows) {
        two_panels ? multiply_int8_part<2, 2>(part, sums) : multiply_int8_part<2, 1>(part, sums);
      } else {
        two_panels ? multiply_int8_part<1, 2>(part, sums) : multiply_int8_part<1, 1>(part, sums);
      }
      keep_int8_sums(sums, std::min(2 * kTileRows, tile.rows - r), tile.panels, scales, first > 0,
                     tile.sums + r * tile.panels * 16);
    }
  }
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
