// A heatmap on a page: cells between their labels, numbers in them where there is room, the legend beside
// them.
#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "draw/number.h"
#include "draw/page/axis_labels.h"
#include "draw/page/cells.h"
#include "draw/page/fit_text.h"
#include "draw/page/parts.h"

namespace attend::draw {
namespace {

constexpr double kLargestCell = 44;
constexpr double kTallestMap = 620;
constexpr double kLongestRowLabel = 120;
constexpr double kLongestColumnLabel = 90;
constexpr double kLongestThinnedLabel = 76;  // leaves 1.5 points for each of 400 columns
constexpr double kBand = 20;      // the height of rows, or the width of columns, when there are few
constexpr std::size_t kLong = 4;  // a map this many times longer in one direction than in the other
constexpr std::size_t kMostNumbers = 400;
constexpr std::size_t kMostSeparate = 900;
constexpr double kAxisTitleRoom = 16;
constexpr Rgb kQuiet{0x76, 0x76, 0x76};  // of numbers that round to zero: just 4.5 : 1 on white
constexpr Rgb kFocus{0xd5, 0x5e, 0x00};  // vermilion: the scale has nothing like it

// Sizes that are needed before anything is drawn.
struct Geometry {
  AxisNames rows, columns;
  double label_room = 0;
  double pitch_x = 0, pitch_y = 0;
};

// A pooled map is already labelled with numbers.
AxisNames names_of(const std::vector<std::string>& labels, std::size_t count,
                   std::optional<std::size_t> focus, bool pooled) {
  AxisNames names = axis_names(labels, count, focus);
  names.counts = names.counts || pooled;
  return names;
}

double widest_name(const AxisNames& names, double longest, const Sheet& sheet) {
  double width = 0;
  for (std::size_t i = 0; i < names.names.size(); ++i) {
    const Font font{kLabelSize, i == names.focus};
    width = std::max(width, std::min(sheet.measure.width(names.names[i], font), longest));
    if (width == longest) break;
  }
  return width;
}

double room_for_cells(const Heatmap& map, double label_room, const Sheet& sheet) {
  const double axis_title = map.row_title.empty() ? 0 : kAxisTitleRoom;
  return std::max(sheet.width - label_room - axis_title - kLegendGap - kLegendRoom, 60.0);
}

Geometry measured(const Heatmap& map, bool pooled, const Sheet& sheet) {
  Geometry geometry;
  geometry.rows = names_of(map.row_labels, map.rows, map.focus_row, pooled);
  geometry.columns = names_of(map.column_labels, map.columns, {}, pooled);
  const double down = pitch_for(kTallestMap, map.rows, kLargestCell);
  const bool thinned = down < kLeastSize;
  const double longest = thinned ? kLongestThinnedLabel : std::min(kLongestRowLabel, sheet.width / 4);
  geometry.label_room = (thinned ? longest : widest_name(geometry.rows, longest, sheet)) + 8;
  const double across = pitch_for(room_for_cells(map, geometry.label_room, sheet), map.columns, kLargestCell);
  const double square = std::min(across, down);
  geometry.pitch_x = map.rows > kLong * map.columns ? std::min(across, std::max(square, kBand)) : square;
  geometry.pitch_y = map.columns > kLong * map.rows ? std::min(down, std::max(square, kBand)) : square;
  return geometry;
}

// At least one point per cell.
Heatmap pooled_to_fit(const Heatmap& map, const Sheet& sheet) {
  const auto most_columns = static_cast<std::size_t>(room_for_cells(map, 40, sheet));
  const auto most_rows = static_cast<std::size_t>(kTallestMap);
  if (map.columns <= most_columns && map.rows <= most_rows) return map;
  const std::size_t most = std::min(most_columns, most_rows);
  return max_pooled(map, std::min(map.rows, most), std::min(map.columns, most));
}

// The numbers of all cells at one size, if they fit. Returns the power of ten that they leave out, or 0.
int draw_numbers(Drawing& drawing, const Heatmap& map, Point at, const Geometry& geometry) {
  if (map.rows * map.columns > kMostNumbers) return 0;
  std::vector<double> values;
  for (std::size_t i = 0; i < map.rows; ++i) {
    for (std::size_t j = 0; j < map.columns; ++j) {
      if (!map.is_masked(i, j)) values.push_back(map.at(i, j));
    }
  }
  NumberFormat format = number_format_for(values, 2);
  const int power = shared_power(values, format);
  const double unit = std::pow(10.0, power);
  if (power != 0) format = {.decimals = 2};
  double widest_number = 0;
  for (const double value : values)
    widest_number = std::max(widest_number, drawing.width_of(format_number(value / unit, format), {1}));
  const double size = std::min(
      {kLabelSize - 1, (geometry.pitch_x - 5) / std::max(widest_number, 0.1), geometry.pitch_y / 1.5});
  if (size < kLeastSize) return 0;
  const std::string zero = format_number(0, format);
  for (std::size_t i = 0; i < map.rows; ++i) {
    for (std::size_t j = 0; j < map.columns; ++j) {
      if (map.is_masked(i, j)) continue;
      const std::string number = format_number(map.at(i, j) / unit, format);
      const Rgb background = cell_palette()[cell_at(place_in(map.range, map.at(i, j)))];
      const bool quiet = number == zero && format.decimals > 0 && text_color_on(background) == Rgb{0, 0, 0};
      drawing.text(number,
                   {at.x + (static_cast<double>(j) + 0.5) * geometry.pitch_x,
                    at.y + (static_cast<double>(i) + 0.5) * geometry.pitch_y + kMiddleToBase * size},
                   {{size}, quiet ? kQuiet : text_color_on(background), Anchor::middle});
    }
  }
  return power;
}

// A frame around the row in focus; outside a thin row, so as not to cover it.
void draw_focus(Drawing& drawing, const Heatmap& map, Point at, const Geometry& geometry) {
  const bool thin = geometry.pitch_y < 8;
  const double outside = thin ? 1 : 0;
  drawing.add(Rect{{at.x, at.y + static_cast<double>(*map.focus_row) * geometry.pitch_y - outside},
                   geometry.pitch_x * static_cast<double>(map.columns),
                   geometry.pitch_y + 2 * outside,
                   {},
                   Stroke{{kFocus}, thin ? 0.7 : 1.4}});
}

std::string size_of(const Heatmap& map) {
  return std::to_string(map.rows) + " x " + std::to_string(map.columns);
}

}  // namespace

Scene lay_out(const Heatmap& map, const Sheet& sheet) {
  Drawing drawing(sheet);
  double y = drawing.part_title(map.title);
  if (map.rows == 0 || map.columns == 0) {
    drawing.note(size_of(map) + ", empty", {0, y});
    return std::move(drawing).finish();
  }
  const Heatmap shown = pooled_to_fit(map, sheet);
  const bool pooled = shown.rows != map.rows || shown.columns != map.columns;
  const Geometry geometry = measured(shown, pooled, sheet);
  const AxisLabels rows = labels_of_rows(geometry.rows, geometry.pitch_y, geometry.label_room - 8, sheet);
  const AxisLabels columns =
      labels_of_columns(geometry.columns, geometry.pitch_x, kLongestColumnLabel, sheet);
  const double width = geometry.pitch_x * static_cast<double>(shown.columns);
  const double height = geometry.pitch_y * static_cast<double>(shown.rows);
  const double left =
      (map.row_title.empty() ? 0 : kAxisTitleRoom) + widest(rows, sheet) + (rows.thinned ? 11 : 8);

  // Where the cells begin is only known once the labels above them have been drawn, so a first drawing is
  // discarded.
  Drawing trial(sheet);
  const double reach = draw_column_labels(trial, columns, {left, 0}, geometry.pitch_x);
  if (!map.column_title.empty()) {
    constexpr Font font{kSmallSize};
    const std::string title = fitted(drawable(map.column_title), std::max(width, 80.0), font, sheet.measure);
    drawing.text(title, {left + width / 2, y + kAscent * kSmallSize}, {font, kGrey, Anchor::middle});
    y += kAxisTitleRoom;
  }
  const Point at{left, y + reach};
  draw_column_labels(drawing, columns, at, geometry.pitch_x);
  draw_row_labels(drawing, rows, at, geometry.pitch_y);
  if (!map.row_title.empty()) {
    constexpr Font font{kSmallSize};
    const std::string title = fitted(drawable(map.row_title), std::max(height, 80.0), font, sheet.measure);
    drawing.text(title, {kAscent * kSmallSize, at.y + height / 2}, {font, kGrey, Anchor::middle, -90});
  }
  draw_cells(drawing, shown, at, geometry.pitch_x, geometry.pitch_y, kMostSeparate);
  const int power = draw_numbers(drawing, shown, at, geometry);
  if (shown.focus_row) draw_focus(drawing, shown, at, geometry);
  LegendKeys keys;
  keys.look_at(shown);
  const double legend_height = std::clamp(height, 72.0, 160.0);
  const double legend_end = draw_legend(drawing, map.range, map.value_label, keys,
                                        {at.x + width + kLegendGap, at.y}, legend_height);
  if (power != 0) {
    drawing.text(joined("numbers ", name_of_power(power)),
                 {at.x + width + kLegendGap, legend_end + kAscent * kSmallSize}, {{kSmallSize}, kGrey});
  }
  if (pooled) {
    drawing.note(size_of(map) + " shown as " + size_of(shown) + ", each cell the largest of its block.",
                 {left, std::max(at.y + height, legend_end) + 8});
  }
  return std::move(drawing).finish();
}

}  // namespace attend::draw
