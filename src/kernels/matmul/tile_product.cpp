// How it works: two tiles of rows by two of columns are summed in four tiles, so that a step of the depth
// loads four and multiplies four. For each two panels the depth is taken in parts that the first-level cache
// holds (two panels of 384 rows are 24 KiB), and for each part all rows; sums wait in a strip meanwhile, and
// go on to bias, activation and residual after the last part, while the tiles of the next 32 rows are
// multiplied: what a tile has just stored is not at hand for vectors yet.
#include "kernels/matmul/tile_product.h"

#include <algorithm>
#include <cstring>

#include "kernels/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/tile_product.cpp"
#include <hwy/foreach_target.h>

#include "kernels/matmul/finish-inl.h"
#include "kernels/simd/amx-inl.h"

#if ATTEND_AMX
ATTEND_BEFORE_AMX();
namespace attend::kernels {
namespace HWY_NAMESPACE {

constexpr std::int64_t kTileNumbers = kRowsOfTile * kDepthOfTile, kTileWords = kTileNumbers / 2;
constexpr std::int64_t kStepsOfPart = 12;                  // of 32 rows of b
constexpr std::int64_t kStripColumns = 2 * kPanelColumns;  // of sums

// What a part of the depth multiplies.
struct TilePart {
  std::int64_t steps = 0;
  const bfloat16* a[2] = {};
  std::int64_t a_row = kTileBytes, a_step = kTileNumbers;  // in bytes; in numbers
  const std::uint32_t* b[2] = {};
  // What stands for the last tiles of b where its panels end within one, or null.
  const std::uint32_t* b_last[2] = {};
  bool add = false;
};

template <int kR, int kC>
HWY_INLINE void multiply_step(const TilePart& part, std::int64_t s, const std::uint32_t* b0,
                              const std::uint32_t* b1) {
  tile_load<4>(part.a[0] + s * part.a_step, part.a_row);
  tile_load<6>(b0, kTileBytes);
  tile_multiply_bf16<0, 4, 6>();
  if constexpr (kC > 1) {
    tile_load<7>(b1, kTileBytes);
    tile_multiply_bf16<1, 4, 7>();
  }
  if constexpr (kR > 1) {
    tile_load<5>(part.a[1] + s * part.a_step, part.a_row);
    tile_multiply_bf16<2, 5, 6>();
    if constexpr (kC > 1) tile_multiply_bf16<3, 5, 7>();
  }
}

// sums (32, kStripColumns): as many of its quarters as there are tiles.
template <int kR, int kC>
HWY_INLINE void multiply_part(const TilePart& part, float* sums) {
  constexpr std::int64_t kStride = kStripColumns * static_cast<std::int64_t>(sizeof(float));
  float* const below = sums + kRowsOfTile * kStripColumns;
  if (part.add) {
    tile_load<0>(sums, kStride);
    if constexpr (kC > 1) tile_load<1>(sums + kPanelColumns, kStride);
    if constexpr (kR > 1) tile_load<2>(below, kStride);
    if constexpr (kR > 1 && kC > 1) tile_load<3>(below + kPanelColumns, kStride);
  } else {
    tile_zero<0>();
    if constexpr (kC > 1) tile_zero<1>();
    if constexpr (kR > 1) tile_zero<2>();
    if constexpr (kR > 1 && kC > 1) tile_zero<3>();
  }
  const std::int64_t whole = part.b_last[0] != nullptr ? part.steps - 1 : part.steps;
  for (std::int64_t s = 0; s < whole; ++s)
    multiply_step<kR, kC>(part, s, part.b[0] + s * kTileWords, part.b[1] + s * kTileWords);
  if (whole < part.steps) multiply_step<kR, kC>(part, whole, part.b_last[0], part.b_last[1]);
  tile_store<0>(sums, kStride);
  if constexpr (kC > 1) tile_store<1>(sums + kPanelColumns, kStride);
  if constexpr (kR > 1) tile_store<2>(below, kStride);
  if constexpr (kR > 1 && kC > 1) tile_store<3>(below + kPanelColumns, kStride);
}

HWY_INLINE void multiply_part(const TilePart& part, bool two_rows, bool two_columns, float* sums) {
  if (two_rows) {
    two_columns ? multiply_part<2, 2>(part, sums) : multiply_part<2, 1>(part, sums);
  } else {
    two_columns ? multiply_part<1, 2>(part, sums) : multiply_part<1, 1>(part, sums);
  }
}

// 32 rows and two panels of sums, or fewer, that wait for their end.
struct WaitingSums {
  std::int64_t first = 0, rows = 0, column = 0, columns = 0;
  float* sums = nullptr;  // (rows, kStripColumns)
};

// finish() for 16 bits, by the instruction for that: a row of two panels becomes a line of the cache.
template <Activation kActivation>
HWY_INLINE void round_block(const MatmulFinish& end, const WaitingSums& at) {
  const D d;
  const auto there = static_cast<__mmask32>((std::uint64_t{1} << at.columns) - 1);
  const std::int64_t right = at.columns - kPanelColumns;  // columns of the second panel
  const auto two_vectors = [&](const float* from, Slot(&x)[2]) ATTEND_AMX_ATTR {
    x[0] = load_some(from, at.columns);
    x[1] = right > 0 ? load_some(from + kPanelColumns, right) : hn::Zero(d);
  };
  Slot bias[2] = {hn::Zero(d), hn::Zero(d)}, added[2];
  if (end.bias != nullptr) two_vectors(end.bias + at.column, bias);
  for (std::int64_t r = 0; r < at.rows; ++r) {
    const float* const from = at.sums + r * kStripColumns;
    Slot x[2];
    for (int v = 0; v < 2; ++v)
      x[v] = activated<kActivation>(hn::Add(hn::Load(d, from + v * kPanelColumns), bias[v]));
    if (end.residual != nullptr) {
      two_vectors(end.residual + (at.first + r) * end.residual_row + at.column, added);
      for (int v = 0; v < 2; ++v) x[v] = hn::Add(x[v], added[v]);
    }
    const V first = x[0], second = x[1];
    _mm512_mask_storeu_epi16(end.out_bf16 + (at.first + r) * end.out_row + at.column, there,
                             reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(second.raw, first.raw)));
  }
}

HWY_INLINE void finish_block(const MatmulFinish& end, const WaitingSums& at) {
  if (at.rows == 0) return;
  if (end.out_bf16 == nullptr)
    return finish(end, at.first, at.rows, at.column, at.columns, at.sums, kStripColumns);
  switch (end.activation) {
    case Activation::none:
      return round_block<Activation::none>(end, at);
    case Activation::gelu:
      return round_block<Activation::gelu>(end, at);
    case Activation::gelu_tanh:
      return round_block<Activation::gelu_tanh>(end, at);
    case Activation::relu:
      return round_block<Activation::relu>(end, at);
    case Activation::silu:
      return round_block<Activation::silu>(end, at);
  }
}

// The columns [column, column + columns) of all rows, at most two panels.
inline void multiply_strip(const RowTiles& a, const MatmulBf16Block& block, std::int64_t column,
                           std::int64_t columns, float* sums, WaitingSums& waiting) {
  const std::int64_t pairs = pair_count(block.depth), steps = (block.depth + kDepthOfTile - 1) / kDepthOfTile;
  const bool two_columns = columns > kPanelColumns;
  const std::uint32_t* const b0 = block.panels + column * pairs;
  const std::uint32_t* const b1 = two_columns ? b0 + kPanelColumns * pairs : b0;
  // Beyond the panels' lines lie other panels, or nothing: what is multiplied there by 0 must be finite.
  HWY_ALIGN std::uint32_t last[2][kTileWords];
  const std::int64_t lines_of_last = pairs % kRowsOfTile,
                     whole_words = (pairs - lines_of_last) * kPanelColumns;
  if (lines_of_last != 0) {
    std::memset(last, 0, sizeof(last));
    const auto bytes = static_cast<std::size_t>(lines_of_last * kTileBytes);
    std::memcpy(last[0], b0 + whole_words, bytes);
    if (two_columns) std::memcpy(last[1], b1 + whole_words, bytes);
  }
  std::int64_t s = 0;
  do {
    TilePart part;
    part.steps = std::min(kStepsOfPart, steps - s);
    part.a_row = a.row * static_cast<std::int64_t>(sizeof(bfloat16));
    part.a_step = a.along;
    part.add = s > 0;
    part.b[0] = b0 + s * kTileWords;
    part.b[1] = b1 + s * kTileWords;
    const bool ends = s + part.steps == steps;
    if (ends && lines_of_last != 0) {
      part.b_last[0] = last[0];
      part.b_last[1] = last[1];
    }
    for (std::int64_t r = 0; r < block.rows; r += 2 * kRowsOfTile) {
      const std::int64_t rows = std::min(2 * kRowsOfTile, block.rows - r);
      const bool two_rows = rows > kRowsOfTile;
      part.a[0] = a.first + r / kRowsOfTile * a.down + s * a.along;
      part.a[1] = two_rows ? part.a[0] + a.down : part.a[0];
      if (ends) prefetch(block.finish, r, rows, column, columns);
      multiply_part(part, two_rows, two_columns, sums + r * kStripColumns);
      if (!ends) continue;
      finish_block(block.finish, waiting);
      waiting = {r, rows, column, columns, sums + r * kStripColumns};
    }
    s += part.steps;
  } while (s < steps);
}

inline void put_row(const float* row, std::int64_t count, bfloat16* to) {
  const auto put = [to](std::int64_t i, __m512 first, __m512 second) ATTEND_AMX_ATTR {
    const __m512bh numbers = _mm512_cvtne2ps_pbh(second, first);
    _mm512_store_si512(to + i * kRowsOfTile, reinterpret_cast<__m512i>(numbers));
  };
  std::int64_t i = 0;
  for (; i + kDepthOfTile <= count; i += kDepthOfTile)
    put(i, _mm512_loadu_ps(row + i), _mm512_loadu_ps(row + i + 16));
  if (i == count) return;
  const auto there = static_cast<std::uint32_t>((std::uint64_t{1} << (count - i)) - 1);
  put(i, _mm512_maskz_loadu_ps(static_cast<__mmask16>(there), row + i),
      _mm512_maskz_loadu_ps(static_cast<__mmask16>(there >> 16), row + i + 16));
}

inline void put_row(const bfloat16* row, std::int64_t count, bfloat16* to) {
  for (std::int64_t i = 0; i < count; i += kDepthOfTile) {
    const std::int64_t size = std::min(kDepthOfTile, count - i);
    const auto there = static_cast<__mmask32>((std::uint64_t{1} << size) - 1);
    _mm512_store_si512(to + i * kRowsOfTile, _mm512_maskz_loadu_epi16(there, row + i));
  }
}

inline void multiply_in_tiles(const RowTiles& a, const MatmulBf16Block& block) {
  HWY_ALIGN float sums[2][kMatmulRows * kStripColumns];
  const TileScope tiles;
  WaitingSums waiting;
  for (std::int64_t column = 0; column < block.columns; column += kStripColumns) {
    multiply_strip(a, block, column, std::min(kStripColumns, block.columns - column),
                   sums[column / kStripColumns % 2], waiting);
  }
  finish_block(block.finish, waiting);
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
ATTEND_AFTER_AMX();
#endif  // ATTEND_AMX

#if HWY_ONCE
namespace attend::kernels {

bool multiplies_tiles() noexcept { return has_extension(Extension::amx); }

#if HWY_TARGETS & ATTEND_BF16_TARGETS && defined(__x86_64__)

void put_in_tiles(const float* numbers, std::int64_t count, bfloat16* line) noexcept {
  bf16_set::put_row(numbers, count, line);
}

void put_in_tiles(const bfloat16* numbers, std::int64_t count, bfloat16* line) noexcept {
  bf16_set::put_row(numbers, count, line);
}

void matmul_tiles(const RowTiles& a, const MatmulBf16Block& block) noexcept {
  bf16_set::multiply_in_tiles(a, block);
}

#else

// Never called: multiplies_tiles() says no.
void put_in_tiles(const float*, std::int64_t, bfloat16*) noexcept {}
void put_in_tiles(const bfloat16*, std::int64_t, bfloat16*) noexcept {}
void matmul_tiles(const RowTiles&, const MatmulBf16Block&) noexcept {}

#endif

}  // namespace attend::kernels
#endif
