// How it works: a few panels at a time, for all rows, through the whole depth: a strip of 48 columns and a
// depth of 1536 is 72 KiB, which the second-level cache holds while the rows go by, and a tile needs 8 bytes
// of it a cycle. The sums of a tile become f32 and go on to bias, activation and residual.
#include "kernels/matmul_int8/matmul_int8.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul_int8/matmul_int8.cpp"
#include <hwy/foreach_target.h>

#include "kernels/matmul/finish-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

// The numbers that the sums stand for: (sum - zero * column's sum) * scale of the row * scale of the column.
HWY_ATTR HWY_INLINE void scale_sums(const Int8Block& block, std::int64_t first, std::int64_t rows,
                                    std::int64_t column, std::int64_t width, const std::int32_t* sums,
                                    float* to) {
  const D d;
  const DI di;
  for (std::int64_t r = 0; r < rows; ++r) {
    const Int8Row& row = block.a_scales[first + r];
    const V scale = hn::Set(d, row.scale);
    const auto zero = hn::Set(di, row.zero);
    for (std::int64_t j = 0; j < width; j += lanes()) {
      const auto off = hn::Mul(zero, hn::Load(di, block.b_sums + column + j));
      const V sum = hn::ConvertTo(d, hn::Sub(hn::Load(di, sums + r * width + j), off));
      hn::Store(hn::Mul(sum, hn::Mul(scale, hn::Load(d, block.b_scales + column + j))), d,
                to + r * width + j);
    }
  }
}

HWY_ATTR void multiply(const Int8Block& block, const Int8Kernel& kernel) {
  constexpr std::int64_t kMostSums = kMostInt8Rows * kMostInt8Panels * kPanelColumns;
  HWY_ALIGN std::int32_t sums[kMostSums];
  HWY_ALIGN float scaled[kMostSums];
  const std::int64_t step = kernel.panels * kPanelColumns;
  for (std::int64_t column = 0; column < block.columns; column += step) {
    const std::int64_t columns = std::min(step, block.columns - column);
    const std::int64_t panels = (columns + kPanelColumns - 1) / kPanelColumns;
    const std::int8_t* const b = block.panels + column * block.groups * kInt8Group;
    const bool last = column + step >= block.columns;
    for (std::int64_t r = 0; r < block.rows; r += kernel.rows) {
      const std::int64_t rows = std::min(kernel.rows, block.rows - r);
      Int8Tile tile;
      tile.rows = rows;
      tile.panels = panels;
      tile.groups = block.groups;
      tile.a = static_cast<const char*>(block.a) + r * block.a_row;
      tile.a_row = block.a_row;
      tile.b = b;
      if (r == 0) tile.ahead = last ? block.ahead : b + step * block.groups * kInt8Group;
      tile.sums = sums;
      prefetch(block.finish, r, rows, column, columns);
      kernel.multiply(tile);
      scale_sums(block, r, rows, column, panels * kPanelColumns, sums, scaled);
      finish(block.finish, r, rows, column, columns, scaled, panels * kPanelColumns);
    }
  }
}

// The least and the greatest of a row, 0 included, and whether all of it is finite.
struct Range {
  float low, high;
  bool finite;
};

HWY_ATTR HWY_INLINE Range range_of(const float* row, std::int64_t n) {
  const D d;
  // x - x is 0 for finite x and NaN otherwise, which the least and the greatest may pass over.
  V low0 = hn::Zero(d), low1 = low0, high0 = low0, high1 = low0, wrong0 = low0, wrong1 = low0;
  std::int64_t i = 0;
  for (; i + 2 * lanes() <= n; i += 2 * lanes()) {
    const V x0 = hn::LoadU(d, row + i), x1 = hn::LoadU(d, row + i + lanes());
    low0 = hn::Min(low0, x0);
    low1 = hn::Min(low1, x1);
    high0 = hn::Max(high0, x0);
    high1 = hn::Max(high1, x1);
    wrong0 = hn::Add(wrong0, hn::Sub(x0, x0));
    wrong1 = hn::Add(wrong1, hn::Sub(x1, x1));
  }
  for (; i < n; i += lanes()) {
    const V x = load_some(row + i, n - i);
    low0 = hn::Min(low0, x);
    high0 = hn::Max(high0, x);
    wrong0 = hn::Add(wrong0, hn::Sub(x, x));
  }
  return {hn::GetLane(hn::MinOfLanes(d, hn::Min(low0, low1))),
          hn::GetLane(hn::MaxOfLanes(d, hn::Max(high0, high1))),
          hn::AllTrue(d, hn::Eq(hn::Add(wrong0, wrong1), hn::Zero(d)))};
}

// A product, a rounding and whole numbers: nothing that an instruction set with fused multiplication could
// make differently.
template <Int8Form kForm>
HWY_ATTR HWY_INLINE void write_row(const float* from, std::int64_t n, float inverse, std::int32_t zero,
                                   void* to) {
  const D d;
  const DI di;
  const V factor = hn::Set(d, inverse);
  const auto z = hn::Set(di, zero), least = hn::Set(di, 0), most = hn::Set(di, 255);
  const std::int64_t whole_groups = group_count(n) * kInt8Group;
  for (std::int64_t i = 0; i < whole_groups; i += lanes()) {
    const V x = load_some(from + i, std::max<std::int64_t>(0, n - i));
    const auto q = hn::Min(hn::Max(hn::Add(hn::NearestInt(hn::Mul(x, factor)), z), least), most);
    if constexpr (kForm == Int8Form::s16) {
      const hn::Rebind<std::int16_t, D> narrow;
      hn::StoreU(hn::DemoteTo(narrow, hn::Sub(q, z)), narrow, static_cast<std::int16_t*>(to) + i);
    } else if constexpr (kForm == Int8Form::s8) {
      const hn::Rebind<std::int8_t, D> narrow;
      const auto centred = hn::Sub(q, hn::Set(di, 128));
      hn::StoreU(hn::DemoteTo(narrow, centred), narrow, static_cast<std::int8_t*>(to) + i);
    } else {
      const hn::Rebind<std::uint8_t, D> narrow;
      hn::StoreU(hn::DemoteTo(narrow, q), narrow, static_cast<std::uint8_t*>(to) + i);
    }
  }
}

HWY_ATTR void quantise(const float* from, std::int64_t from_row, std::int64_t rows, std::int64_t depth,
                       Int8Form form, void* to, Int8Row* scales) {
  const std::int64_t to_row = int8_row_bytes(depth, form);
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* const row = from + r * from_row;
    const Range range = range_of(row, depth);
    // In double, so that neither the width of the range nor its inverse overflows.
    const double width = static_cast<double>(range.high) - static_cast<double>(range.low);
    // A range so narrow that its inverse is no float counts as 0.
    constexpr double kLeastWidth = 255 / 3e38;
    const bool given = range.finite && width > kLeastWidth;
    const float inverse = given ? static_cast<float>(255 / width) : 0.0f;
    const std::int32_t zero = given ? hn::GetLane(hn::NearestInt(hn::Set(D(), -range.low * inverse))) : 0;
    scales[r].scale = !range.finite ? __builtin_nanf("") : given ? static_cast<float>(width / 255) : 0.0f;
    char* const at = static_cast<char*>(to) + r * to_row;
    switch (form) {
      case Int8Form::u8:
        scales[r].zero = zero;
        write_row<Int8Form::u8>(row, depth, inverse, zero, at);
        break;
      case Int8Form::s8:
        scales[r].zero = zero - 128;
        write_row<Int8Form::s8>(row, depth, inverse, zero, at);
        break;
      case Int8Form::s16:
        scales[r].zero = 0;
        write_row<Int8Form::s16>(row, depth, inverse, zero, at);
        break;
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attend::kernels {
namespace {

HWY_EXPORT(multiply);
HWY_EXPORT(quantise);

}  // namespace

void quantise_rows(const float* from, std::int64_t from_row, std::int64_t rows, std::int64_t depth,
                   Int8Form form, void* to, Int8Row* scales) noexcept {
  HWY_DYNAMIC_DISPATCH(quantise)(from, from_row, rows, depth, form, to, scales);
}

void matmul_int8(const Int8Block& block) noexcept { HWY_DYNAMIC_DISPATCH(multiply)(block, int8_kernel()); }

}  // namespace attend::kernels
#endif
