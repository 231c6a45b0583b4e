// How it works: a few panels at a time, for all rows, through the whole depth: a strip of 48 columns and a
// depth of 1536 is 74 KiB, which the second-level cache holds while the rows go by, and a tile needs 8 bytes
// of it a cycle. The sums of a tile go on to scales, bias, activation and residual. Nothing here may be fused
// by the compiler (-ffp-contract=off): bits are the same on sets with and without fused multiply-adds.
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
                                    float* sums) {
  const D d;
  const DI di;
  const std::int64_t panel_bytes = int8_panel_bytes(block.groups);
  for (std::int64_t r = 0; r < rows; ++r, sums += width) {
    const Int8Row& row = block.a_scales[first + r];
    for (int i = 0; i < row.outlier_count; ++i) {
      const Int8Row::Outlier& outlier = row.outliers[i];
      const std::int64_t line = int8_line(outlier.group),
                         scales = int8_scales_line(outlier.group, block.groups);
      const int to_top = 24 - 8 * outlier.place;
      const V rest = hn::Set(d, outlier.rest);
      for (std::int64_t j = 0; j < width; j += lanes()) {
        const std::int8_t* const panel = b + j / kPanelColumns * panel_bytes + j % kPanelColumns * kInt8Group;
        const auto bytes = hn::Load(di, reinterpret_cast<const std::int32_t*>(panel + line));
        const V weight = hn::ConvertTo(d, hn::ShiftRight<24>(hn::ShiftLeftSame(bytes, to_top)));
        const V scaled = hn::Mul(weight, hn::Load(d, reinterpret_cast<const float*>(panel + scales)));
        hn::Store(hn::Add(hn::Load(d, sums + j), hn::Mul(scaled, rest)), d, sums + j);
      }
    }
    const V scale = hn::Set(d, row.scale), zero = hn::Set(d, row.zero);
    for (std::int64_t j = 0; j < width; j += lanes()) {
      const V sum = hn::Sub(hn::Load(d, sums + j), hn::Mul(zero, hn::Load(d, block.b_sums + column + j)));
      hn::Store(hn::Mul(sum, hn::Mul(scale, hn::Load(d, block.b_scales + column + j))), d, sums + j);
    }
  }
}

HWY_ATTR void multiply(const Int8Block& block, const Int8Kernel& kernel) {
  HWY_ALIGN float sums[kMostInt8Sums];
  if (block.groups == 0) std::fill_n(sums, kMostInt8Sums, 0.0F);
  const std::int64_t step = kernel.panels * kPanelColumns;
  const std::int64_t column_bytes = int8_panel_bytes(block.groups) / kPanelColumns;
  for (std::int64_t column = 0; column < block.columns; column += step) {
    const std::int64_t columns = std::min(step, block.columns - column);
    const std::int64_t panels = (columns + kPanelColumns - 1) / kPanelColumns;
    const std::int8_t* const b = block.panels + column * column_bytes;
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
      if (r == 0) tile.ahead = last ? block.ahead : b + step * column_bytes;
      tile.sums = sums;
      prefetch(block.finish, r, rows, column, columns);
      if (block.groups > 0) kernel.multiply(tile);
      scale_sums(block, r, rows, column, panels * kPanelColumns, b, sums);
      finish(block.finish, r, rows, column, columns, sums, panels * kPanelColumns);
    }
  }
}

// The three greatest of some numbers, 0 where fewer are above it, in each lane.
struct Three {
  Slot first, second, third;
};
HWY_ATTR HWY_INLINE Three merged(const Three& a, const Three& b) {
  const V second = hn::Max(a.second, b.second), third = hn::Max(a.third, b.third);
  return {hn::Max(a.first, b.first), hn::Max(second, hn::Min(a.first, b.first)),
          hn::Max(third, hn::Max(hn::Min(a.first, b.second), hn::Min(a.second, b.first)))};
}
template <class Turn>
HWY_ATTR HWY_INLINE Three with_turned(const Three& a, const Turn& turn) {
  return merged(a, {turn(a.first), turn(a.second), turn(a.third)});
}

// Of 16 numbers, none of them negative.
HWY_ATTR HWY_INLINE Three greatest_of(const Slot* values) {
  constexpr std::size_t kLanes = hn::MaxLanes(D());
  const D d;
  Three three{values[0], hn::Zero(d), hn::Zero(d)};
  for (std::size_t p = 1; p < 16 / kLanes; ++p) three = merged(three, {values[p], hn::Zero(d), hn::Zero(d)});
  // Neighbours, then pairs, fours and eights of them.
  if constexpr (kLanes >= 2) three = with_turned(three, [&](V x) HWY_ATTR { return hn::Reverse2(d, x); });
  if constexpr (kLanes >= 4) three = with_turned(three, [&](V x) HWY_ATTR { return hn::Reverse4(d, x); });
  if constexpr (kLanes >= 8) three = with_turned(three, [&](V x) HWY_ATTR { return hn::Reverse8(d, x); });
  if constexpr (kLanes >= 16) three = with_turned(three, [&](V x) HWY_ATTR { return hn::Reverse(d, x); });
  return three;
}

// How far a row reaches to a side: its furthest element, and the end of the range in which it is quantised.
struct Side {
  float furthest, end;
};
struct Reach {
  Side high, low;  // low: of the negated numbers
  bool finite;
};

HWY_ATTR HWY_INLINE float lane_of(V x) { return hn::GetLane(x); }

HWY_ATTR HWY_INLINE Side side_of(const Three& three, float allowed) {
  const float first = lane_of(three.first), second = lane_of(three.second), third = lane_of(three.third);
  return {first, first - third <= allowed ? first : second - third <= allowed ? second : third};
}

HWY_ATTR HWY_INLINE Reach reach_of(const float* row, std::int64_t n) {
  constexpr int kParts = 16 / static_cast<int>(hn::MaxLanes(D()));
  const D d;
  const DI di;
  Slot high[kParts], low[kParts];
#pragma GCC unroll 16
  for (int p = 0; p < kParts; ++p) high[p] = low[p] = hn::Zero(d);
  const auto size = hn::Set(di, 0x7fffffff);
  auto largest =
      hn::Zero(di);  // of the bits: NaN and infinity are above all others, and no maximum skips them
  for (std::int64_t i = 0; i < n; i += 16) {
#pragma GCC unroll 16
    for (int p = 0; p < kParts; ++p) {
      const std::int64_t at = i + p * lanes();
      const V x = load_some(row + at, std::max<std::int64_t>(0, n - at));
      high[p] = hn::Max(high[p], x);
      low[p] = hn::Min(low[p], x);
      largest = hn::Max(largest, hn::And(hn::BitCast(di, x), size));
    }
  }
#pragma GCC unroll 16
  for (int p = 0; p < kParts; ++p) low[p] = hn::Neg(low[p]);
  const Three up = greatest_of(high), down = greatest_of(low);
  const float allowed = kInt8Widening * (lane_of(up.third) + lane_of(down.third));
  return {side_of(up, allowed), side_of(down, allowed),
          hn::AllTrue(di, hn::Lt(largest, hn::Set(di, 0x7f800000)))};
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
  const double low = reach.low.end, high = reach.high.end;
  const double all = static_cast<double>(reach.low.furthest) + static_cast<double>(reach.high.furthest);
  const double factor = all / (kInt8Reach * (low + high));
  return factor > 1 ? scale_of(low * factor, high * factor) : scale_of(low, high);
}

// q, which is in [0, 255].
template <Int8Form kForm>
HWY_ATTR HWY_INLINE void store_numbers(hn::Vec<DI> q, void* to, std::int64_t at) {
  if constexpr (kForm == Int8Form::s16) {
    const hn::Rebind<std::int16_t, D> narrow;
    hn::StoreU(hn::DemoteTo(narrow, q), narrow, static_cast<std::int16_t*>(to) + at);
  } else if constexpr (kForm == Int8Form::s8) {
    const hn::Rebind<std::int8_t, D> narrow;
    hn::StoreU(hn::DemoteTo(narrow, hn::Sub(q, hn::Set(DI(), 128))), narrow,
               static_cast<std::int8_t*>(to) + at);
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
    store_numbers<kForm>(within, to, i);
    if (kClamp || hn::AllTrue(di, hn::Eq(q, within))) continue;
    HWY_ALIGN std::int32_t rest[HWY_MAX_BYTES / sizeof(std::int32_t)];
    hn::Store(hn::Sub(q, within), di, rest);
    for (std::int64_t l = 0; l < lanes(); ++l) {
      if (rest[l] == 0) continue;
      if (count == kInt8Outliers) return false;
      const auto at = static_cast<std::int32_t>(i + l);
      row.outliers[count++] = {at / static_cast<std::int32_t>(kInt8Group),
                               at % static_cast<std::int32_t>(kInt8Group), static_cast<float>(rest[l])};
    }
  }
  row.outlier_count = count;
  return true;
}

template <Int8Form kForm>
HWY_ATTR void quantise_row(const float* from, std::int64_t n, void* to, Int8Row& row) {
  const Reach reach = reach_of(from, n);
  Int8Scale scale = reach.finite ? inner_scale_of(reach) : Int8Scale();
  if (scale.scale == 0 || !write_numbers<kForm, false>(from, n, scale, to, row)) {
    if (reach.finite) scale = scale_of(reach.low.furthest, reach.high.furthest);
    write_numbers<kForm, true>(from, n, scale, to, row);
  }
  row.scale = reach.finite ? scale.scale : __builtin_nanf("");
  row.zero = static_cast<float>(kForm == Int8Form::s8 ? scale.zero - 128 : scale.zero);
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
