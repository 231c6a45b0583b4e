// How it works: columns of b are in vector lanes, three panels at a time; rows of a are read in place by
// broadcast. For each group of columns the depth is taken in parts, and for each part all rows: the part of
// the panels, 128 x 48 floats, stays in the cache while the rows go by. The sums of a part join those of the
// parts before it in a strip of 128 rows, and the last part's tiles go on to bias, activation and residual
// while they are in the first-level cache.
#include "kernels/matmul/matmul.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/matmul.cpp"
#include <hwy/foreach_target.h>

#include "kernels/matmul/strips-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

constexpr std::int64_t kMaxPart = 128;

// Rows of f32 times panels of f32, both where they lie.
struct FloatProduct : FloatRows {
  explicit FloatProduct(const MatmulBlock& block)
      : FloatRows{block.a, block.a_row},
        rows(block.rows),
        columns(block.columns),
        depth(block.depth),
        part(part_of(block.depth, kMaxPart)),
        lines{block.panels, block.ahead, block.depth},
        finish(block.finish) {}

  template <int kV>
  HWY_ATTR StripPart<float, kV> start(std::int64_t column, std::int64_t first, std::int64_t count) const {
    StripPart<float, kV> found;
    for (int v = 0; v < kV; ++v) {
      found.b[v] = panel_vector(lines.panels, depth, column + v * lanes()) + first * kPanelColumns;
    }
    const std::int64_t tiles = (rows + kRows - 1) / kRows;
    found.ahead = part_ahead(lines, tiles, part, column, kV * lanes(), first + count, columns);
    return found;
  }

  std::int64_t rows, columns, depth, part;
  PanelLines lines;
  const MatmulFinish& finish;
};

HWY_ATTR void multiply(const MatmulBlock& block) { multiply_strips(FloatProduct(block)); }

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attend::kernels {
namespace {

HWY_EXPORT(multiply);

}  // namespace

void matmul(const MatmulBlock& block) noexcept { HWY_DYNAMIC_DISPATCH(multiply)(block); }

}  // namespace attend::kernels
#endif
