// How it works: as matmul.cpp, over the same strips; a line of a panel holds two rows. With AVX512-BF16 a
// tile is multiplied by pair_tile.cpp, two rows of the panels an instruction. Without it the micro-kernel of
// f32 widens the lines in registers, one row after the other: its bits are those of the f32 product with the
// rounded weights.
#include "kernels/matmul/matmul_bf16.h"

#include "kernels/isa.h"
#include "kernels/matmul/pair_tile.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/matmul_bf16.cpp"
#include <hwy/foreach_target.h>

#include "kernels/matmul/strips-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

// What strip() asks of a product, but for its rows.
struct PairPanels {
  // A tile has `tile_rows` rows; at most `most_lines` lines are added up before they join the total.
  PairPanels(const MatmulBf16Block& block, int tile_rows, std::int64_t most_lines)
      : rows(block.rows),
        columns(block.columns),
        depth(block.depth),
        part(2 * part_of(pair_count(block.depth), most_lines)),
        tiles((block.rows + tile_rows - 1) / tile_rows),
        panels(block.panels),
        lines{reinterpret_cast<const float*>(block.panels), reinterpret_cast<const float*>(block.ahead),
              pair_count(block.depth)},
        finish(block.finish) {}

  template <int kV>
  HWY_ATTR StripPart<std::uint32_t, kV> start(std::int64_t column, std::int64_t first,
                                              std::int64_t count) const {
    StripPart<std::uint32_t, kV> found;
    for (int v = 0; v < kV; ++v) {
      found.b[v] = panel_vector(panels, lines.depth, column + v * lanes()) + first / 2 * kPanelColumns;
    }
    found.ahead =
        part_ahead(lines, tiles, part / 2, column, kV * lanes(), pair_count(first + count), columns);
    return found;
  }

  std::int64_t rows, columns, depth, part, tiles;
  const std::uint32_t* panels;
  PanelLines lines;  // the same panels: a pair stands where a float would
  const MatmulFinish& finish;
};

constexpr std::int64_t kMaxWidenedLines = 64;  // 128 rows, as in f32

struct WidenedProduct : FloatRows, PairPanels {
  WidenedProduct(const float* rows_given, std::int64_t row_step, const MatmulBf16Block& block)
      : FloatRows{rows_given, row_step}, PairPanels(block, kRows, kMaxWidenedLines) {}
};

HWY_ATTR void multiply_widened(const float* a, std::int64_t a_row, const MatmulBf16Block& block) {
  multiply_strips(WidenedProduct(a, a_row, block));
}

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
constexpr std::int64_t kMaxPairLines = 128;  // as many bytes

struct PairProduct : PairPanels {
  static constexpr int kRows = kPairTileRows;
  static_assert(kTileVectors == kPairTilePanels);

  PairProduct(const bfloat16* rows_given, std::int64_t row_step, const MatmulBf16Block& block)
      : PairPanels(block, kRows, kMaxPairLines), a(rows_given), a_row(row_step) {}

  template <int kV>
  HWY_ATTR void multiply(const StripPart<std::uint32_t, kV>& from, std::int64_t row, std::int64_t count,
                         std::int64_t first, std::int64_t part_depth, float* sums, std::int64_t width) const {
    multiply_pair_tile({count, kV, pair_count(part_depth), a + row * a_row + first, a_row, from.b, sums,
                        width, first > 0, from.ahead.panels, from.ahead.apart, from.ahead.step});
  }

  const bfloat16* a;
  std::int64_t a_row;
};

HWY_ATTR void multiply_pairs(const bfloat16* a, std::int64_t a_row, const MatmulBf16Block& block) {
  multiply_strips(PairProduct(a, a_row, block));
}
#else
// Never called: multiplies_bf16() says no.
HWY_ATTR void multiply_pairs(const bfloat16*, std::int64_t, const MatmulBf16Block&) {}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attend::kernels {
namespace {

HWY_EXPORT(multiply_widened);
HWY_EXPORT(multiply_pairs);

}  // namespace

bool multiplies_bf16() noexcept { return has_extension(Extension::avx512_bf16); }

void matmul_bf16(const float* a, std::int64_t a_row, const MatmulBf16Block& block) noexcept {
  HWY_DYNAMIC_DISPATCH(multiply_widened)(a, a_row, block);
}

void matmul_bf16(const bfloat16* a, std::int64_t a_row, const MatmulBf16Block& block) noexcept {
  HWY_DYNAMIC_DISPATCH(multiply_pairs)(a, a_row, block);
}

}  // namespace attend::kernels
#endif
