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

// The sums of a tile as the numbers that they stand for: with what the outliers of their row add, less the
// row's zero times the column's sum, times both scales. `b` are the tile's panels.
HWY_ATTR HWY_INLINE void scale_sums(const Int8Block& block, std::int64_t first, std::int64_t rows,
                                    std::int64_t column, std::int64_t width, const std::int8_t* b,
                                    const std::int32_t* sums, float* to) {
  const D d;
  const DI di;
  for (std::int64_t r = 0; r < rows; ++r) {
    const Int8Row& row = block.a_scales[first + r];
    const V scale = hn::Set(d, row.scale);
    const auto zero = hn::Set(di, row.zero);
    for (std::int64_t j = 0; j < width; j += lanes()) {
      auto sum = hn::Load(di, sums + r * width + j);
      const std::int8_t* const panel =
          b + (j / kPanelColumns * block.groups * kPanelColumns + j % kPanelColumns) * kInt8Group;
      for (int i = 0; i < row.outlier_count; ++i) {
        const Int8Row::Outlier& outlier = row.outliers[i];
        const auto* const line = reinterpret_cast<const std::int32_t*>(
            panel + static_cast<std::int64_t>(outlier.group) * kPanelColumns * kInt8Group);
        const auto bytes = hn::ShiftLeftSame(hn::Load(di, line), 24 - 8 * outlier.place);
        sum = hn::Add(sum, hn::Mul(hn::ShiftRight<24>(bytes), hn::Set(di, outlier.rest)));
      }
      sum = hn::Sub(sum, hn::Mul(zero, hn::Load(di, block.b_sums + column + j)));
      hn::Store(hn::Mul(hn::ConvertTo(d, sum), hn::Mul(scale, hn::Load(d, block.b_scales + column + j))), d,
                to + r * width + j);
    }
  }
}

HWY_ATTR void multiply(const Int8Block& block, const Int8Kernel& kernel) {
  HWY_ALIGN std::int32_t sums[kMostInt8Sums];
  HWY_ALIGN float scaled[kMostInt8Sums];
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
      scale_sums(block, r, rows, column, panels * kPanelColumns, b, sums, scaled);
      finish(block.finish, r, rows, column, columns, scaled, panels * kPanelColumns);
    }
  }
}

// The three greatest of 16 numbers, or 0 where fewer are above it.
struct Three {
  float first = 0, second = 0, third = 0;
};
HWY_ATTR HWY_INLINE Three greatest_of(const float* values) {
  Three three;
  for (int i = 0; i < 16; ++i) {
    const float x = values[i];
    if (x > three.first) {
      three = {x, three.first, three.second};
    } else if (x > three.second) {
      three = {three.first, x, three.second};
    } else if (x > three.third) {
      three.third = x;
    }
  }
  return three;
}

// What a row reaches from and to, with and without the two furthest on each side, and whether all of it is
// finite.
struct Reach {
  Three high, low;  // low: of the negated numbers
  bool finite;
};

HWY_ATTR HWY_INLINE Reach reach_of(const float* row, std::int64_t n) {
  constexpr int kParts = 16 / static_cast<int>(hn::MaxLanes(D()));
  const D d;
  Slot high[kParts], low[kParts];
#pragma GCC unroll 16
  for (int p = 0; p < kParts; ++p) high[p] = low[p] = hn::Zero(d);
  V wrong = hn::Zero(d);
  for (std::int64_t i = 0; i < n; i += 16) {
#pragma GCC unroll 16
    for (int p = 0; p < kParts; ++p) {
      const std::int64_t at = i + p * lanes();
      const V x = load_some(row + at, std::max<std::int64_t>(0, n - at));
      high[p] = hn::Max(high[p], x);
      low[p] = hn::Min(low[p], x);
      // x - x is 0 for finite x and NaN otherwise, which the least and the greatest may pass over.
      wrong = hn::Add(wrong, hn::Sub(x, x));
    }
  }
  HWY_ALIGN float greatest[16], least[16];
#pragma GCC unroll 16
  for (int p = 0; p < kParts; ++p) {
    hn::Store(high[p], d, greatest + p * lanes());
    hn::Store(hn::Neg(low[p]), d, least + p * lanes());
  }
  return {greatest_of(greatest), greatest_of(least), hn::AllTrue(d, hn::Eq(wrong, hn::Zero(d)))};
}

// Elements to whole numbers: q = round(x * inverse) + zero. A product, a rounding and whole numbers: nothing
// that an instruction set with fused multiplication could make differently.
struct Int8Scale {
  float scale = 0, inverse = 0;
  std::int32_t zero = 0;
};

// `low` is the least as a positive number. In double, so that neither the width of the range nor its inverse
// overflows. A range so narrow that its inverse is no float counts as 0.
HWY_ATTR HWY_INLINE Int8Scale scale_of(double low, double high) {
  constexpr double kLeastWidth = 255 / 3e38;
  const double width = high + low;
  if (!(width > kLeastWidth)) return {};
  const auto inverse = static_cast<float>(255 / width);
  const float zero = static_cast<float>(low) * inverse;
  return {static_cast<float>(width / 255), inverse, hn::GetLane(hn::NearestInt(hn::Set(D(), zero)))};
}

// Without its outliers, if it has any. The furthest stay within reach.
HWY_ATTR HWY_INLINE Int8Scale inner_scale_of(const Reach& reach) {
  const double low = reach.low.third, high = reach.high.third;
  const double all = static_cast<double>(reach.low.first) + static_cast<double>(reach.high.first);
  const double factor = all / (kInt8Reach * (low + high));
  return factor > 1 ? scale_of(low * factor, high * factor) : scale_of(low, high);
}

template <Int8Form kForm>
HWY_ATTR HWY_INLINE void store_numbers(hn::Vec<DI> q, hn::Vec<DI> zero, void* to, std::int64_t at) {
  if constexpr (kForm == Int8Form::s16) {
    const hn::Rebind<std::int16_t, D> narrow;
    hn::StoreU(hn::DemoteTo(narrow, hn::Sub(q, zero)), narrow, static_cast<std::int16_t*>(to) + at);
  } else if constexpr (kForm == Int8Form::s8) {
    const hn::Rebind<std::int8_t, D> narrow;
    const auto centred = hn::Sub(q, hn::Set(DI(), 128));
    hn::StoreU(hn::DemoteTo(narrow, centred), narrow, static_cast<std::int8_t*>(to) + at);
  } else {
    const hn::Rebind<std::uint8_t, D> narrow;
    hn::StoreU(hn::DemoteTo(narrow, q), narrow, static_cast<std::uint8_t*>(to) + at);
  }
}

// Returns false when there are more outliers than are kept. With kClamp there are none: they become the end
// of the range, which rounding alone can pass.
template <Int8Form kForm, bool kClamp>
HWY_ATTR HWY_INLINE bool write_numbers(const float* from, std::int64_t n, const Int8Scale& scale, void* to,
                                       Int8Row& row) {
  const D d;
  const DI di;
  const V factor = hn::Set(d, scale.inverse);
  const auto z = hn::Set(di, scale.zero), least = hn::Set(di, 0), most = hn::Set(di, 255);
  const std::int64_t whole_groups = group_count(n) * kInt8Group;
  int count = 0;
  for (std::int64_t i = 0; i < whole_groups; i += lanes()) {
    const V x = load_some(from + i, std::max<std::int64_t>(0, n - i));
    const auto q = hn::Add(hn::NearestInt(hn::Mul(x, factor)), z);
    const auto within = hn::Min(hn::Max(q, least), most);
    if (!kClamp && !hn::AllTrue(di, hn::Eq(q, within))) {
      HWY_ALIGN std::int32_t rest[HWY_MAX_BYTES / sizeof(std::int32_t)];
      hn::Store(hn::Sub(q, within), di, rest);
      for (std::int64_t l = 0; l < lanes(); ++l) {
        if (rest[l] == 0) continue;
        if (count == kInt8Outliers) return false;
        const auto at = static_cast<std::int32_t>(i + l);
        row.outliers[count++] = {at / static_cast<std::int32_t>(kInt8Group),
                                 at % static_cast<std::int32_t>(kInt8Group), rest[l]};
      }
      store_numbers<kForm>(kForm == Int8Form::s16 ? q : within, z, to, i);
    } else {
      store_numbers<kForm>(within, z, to, i);
    }
  }
  row.outlier_count = kForm == Int8Form::s16 ? 0 : count;
  return true;
}

template <Int8Form kForm>
HWY_ATTR void quantise_row(const float* from, std::int64_t n, void* to, Int8Row& row) {
  const Reach reach = reach_of(from, n);
  Int8Scale scale = reach.finite ? inner_scale_of(reach) : Int8Scale();
  if (scale.scale == 0 || !write_numbers<kForm, false>(from, n, scale, to, row)) {
    if (reach.finite) scale = scale_of(reach.low.first, reach.high.first);
    write_numbers<kForm, true>(from, n, scale, to, row);
  }
  row.scale = reach.finite ? scale.scale : __builtin_nanf("");
  row.zero = kForm == Int8Form::s16 ? 0 : kForm == Int8Form::s8 ? scale.zero - 128 : scale.zero;
}

HWY_ATTR void quantise(const float* from, std::int64_t from_row, std::int64_t rows, std::int64_t depth,
                       Int8Form form, void* to, Int8Row* scales) {
  const std::int64_t to_row = int8_row_bytes(depth, form);
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* const row = from + r * from_row;
    char* const at = static_cast<char*>(to) + r * to_row;
    switch (form) {
      case Int8Form::u8:
        quantise_row<Int8Form::u8>(row, depth, at, scales[r]);
        break;
      case Int8Form::s8:
        quantise_row<Int8Form::s8>(row, depth, at, scales[r]);
        break;
      case Int8Form::s16:
        quantise_row<Int8Form::s16>(row, depth, at, scales[r]);
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
