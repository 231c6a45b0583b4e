// How it works: as matmul.cpp, over the same strips. With AVX512-BF16 a tile is multiplied by pair_tile.cpp,
// two rows of the panels an instruction. Without it the part of the panels that all rows are about to read is
// widened once, into the first-level cache, and the micro-kernel of f32 goes on from there: its bits are
// those of the f32 product with the rounded weights.
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

// The line of pairs stands where a line of floats would, for what is fetched ahead.
HWY_INLINE PanelLines lines_of(const MatmulBf16Block& block) {
  return {reinterpret_cast<const float*>(block.panels), reinterpret_cast<const float*>(block.ahead),
          pair_count(block.depth)};
}

struct Bf16Product {
  Bf16Product(const MatmulBf16Block& block, int tile_rows, std::int64_t most_pairs)
      : rows(block.rows),
        columns(block.columns),
        depth(block.depth),
        part(2 * part_of(pair_count(block.depth), most_pairs)),
        tiles((block.rows + tile_rows - 1) / tile_rows),
        lines(lines_of(block)),
        finish(block.finish) {}

  HWY_INLINE const std::uint32_t* at(std::int64_t column, std::int64_t first) const {
    return reinterpret_cast<const std::uint32_t*>(panel_vector(lines.panels, lines.depth, column)) +
           first / 2 * kPanelColumns;
  }
  HWY_INLINE Ahead ahead_of(std::int64_t column, std::int64_t width, std::int64_t first,
                            std::int64_t count) const {
    return part_ahead(lines, tiles, part / 2, column, width, pair_count(first + count), columns);
  }

  std::int64_t rows, columns, depth, part, tiles;
  PanelLines lines;
  const MatmulFinish& finish;
};

constexpr std::int64_t kMaxWidened = 128;

struct WidenedProduct : FloatRows, Bf16Product {
  WidenedProduct(const float* rows_given, std::int64_t row_step, const MatmulBf16Block& block, float* memory)
      : FloatRows{rows_given, row_step}, Bf16Product(block, kRows, kMaxWidened / 2), widened(memory) {}

  template <int kV>
  HWY_ATTR StripPart<float, kV> start(std::int64_t column, std::int64_t first, std::int64_t count) const {
    const hn::RebindToUnsigned<D> du;
    StripPart<float, kV> found;
    for (int v = 0; v < kV; ++v) {
      const std::uint32_t* const from = at(column + v * lanes(), first);
      const std::int64_t place = column % kPanelColumns + v * lanes();
      float* const to = widened + place / kPanelColumns * kMaxWidened * kPanelColumns + place % kPanelColumns;
      for (std::int64_t i = 0; i < pair_count(count); ++i) {
        const auto pairs = hn::Load(du, from + i * kPanelColumns);
        hn::Store(hn::BitCast(D(), hn::ShiftLeft<16>(pairs)), D(), to + 2 * i * kPanelColumns);
        hn::Store(hn::BitCast(D(), hn::And(pairs, hn::Set(du, 0xffff0000u))), D(),
                  to + (2 * i + 1) * kPanelColumns);
      }
      found.b[v] = to;
    }
    found.ahead = ahead_of(column, kV * lanes(), first, count);
    return found;
  }

  float* widened;  // (panels of a strip, kMaxWidened, 16)
};

HWY_ATTR void multiply_widened(const float* a, std::int64_t a_row, const MatmulBf16Block& block) {
  constexpr std::int64_t kPanels = (kTileVectors * HWY_MAX_BYTES / 4 + kPanelColumns - 1) / kPanelColumns;
  HWY_ALIGN float widened[kPanels * kMaxWidened * kPanelColumns];
  multiply_strips(WidenedProduct(a, a_row, block, widened));
}

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
constexpr std::int64_t kMaxPairs = 128;

struct PairProduct : Bf16Product {
  static constexpr int kRows = kPairTileRows;
  static_assert(kTileVectors == kPairTilePanels);

  PairProduct(const bfloat16* rows_given, std::int64_t row_step, const MatmulBf16Block& block)
      : Bf16Product(block, kRows, kMaxPairs), a(rows_given), a_row(row_step) {}

  template <int kV>
  HWY_ATTR StripPart<std::uint32_t, kV> start(std::int64_t column, std::int64_t first,
                                              std::int64_t count) const {
    StripPart<std::uint32_t, kV> found;
    for (int v = 0; v < kV; ++v) found.b[v] = at(column + v * lanes(), first);
    found.ahead = ahead_of(column, kV * lanes(), first, count);
    return found;
  }

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
