// Bars on a page: one per line while there are few; many become a skyline, with names below its peaks.
#include <algorithm>
#include <cmath>

#include "draw/number.h"
#include "draw/page/axis_labels.h"
#include "draw/page/fit_text.h"
#include "draw/page/parts.h"
#include "draw/plot.h"

namespace attend::draw {
namespace {

constexpr std::size_t kMostLines = 60;
constexpr double kLongestBar = 340;
constexpr double kLongestBarLabel = 150;
constexpr double kSkyline = 170;  // its height
constexpr Rgb kBar{0x2f, 0x8f, 0xd0};
constexpr Rgb kEmphasised{0xd5, 0x5e, 0x00};

double finite(double value) { return std::isfinite(value) ? value : 0; }

// From the lowest to the highest bar; 0 is always inside.
Extent extent_of(const Bars& bars) {
  Extent extent{0, 0};
  for (const Bar& bar : bars.bars) {
    extent.low = std::min(extent.low, finite(bar.value));
    extent.high = std::max(extent.high, finite(bar.value));
  }
  if (bars.full_length > 0) extent = {extent.low < 0 ? -bars.full_length : 0, bars.full_length};
  if (extent.low == extent.high) extent.high = 1;
  return extent;
}

double share_of(double value, Extent extent) { return place_in({extent.low, extent.high}, finite(value)); }

void draw_lines(Drawing& drawing, const Bars& bars, double y) {
  const Sheet& sheet = drawing.sheet();
  const double pitch = bars.bars.size() <= 24 ? 18 : 14;
  const double thickness = pitch * 0.66, size = std::min(kLabelSize, pitch / 1.35);
  std::vector<double> values;
  for (const Bar& bar : bars.bars) values.push_back(bar.value);
  const NumberFormat format = number_format_for(values, 3);
  double label_room = 0, number_room = 0;
  std::vector<std::string> names, numbers;
  for (const Bar& bar : bars.bars) {
    const Font font{size, bar.emphasised};
    names.push_back(fitted(drawable(bar.label), kLongestBarLabel, font, sheet.measure));
    numbers.push_back(format_number(bar.value, format));
    label_room = std::max(label_room, drawing.width_of(names.back(), font));
    number_room = std::max(number_room, drawing.width_of(numbers.back(), {size, true}));
  }
  const Extent extent = extent_of(bars);
  // Numbers go next to the ends of the bars, on either side of zero.
  const double before = extent.low < 0 ? number_room + 8 : 0;
  const double left = label_room + 8 + before;
  const double length = std::clamp(sheet.width - left - number_room - 8, 60.0, kLongestBar);
  const double zero = left + length * share_of(0, extent);
  for (std::size_t i = 0; i < bars.bars.size(); ++i) {
    const Bar& bar = bars.bars[i];
    const double middle = y + (static_cast<double>(i) + 0.5) * pitch;
    const double base = middle + kMiddleToBase * size;
    const double end = left + length * share_of(bar.value, extent);
    drawing.text(names[i], {label_room, base}, {{size, bar.emphasised}, kBlack, Anchor::end});
    drawing.add(Rect{{std::min(zero, end), middle - thickness / 2},
                     std::abs(end - zero),
                     thickness,
                     Ink{bar.emphasised ? kEmphasised : kBar}});
    const bool leftwards = end < zero;
    drawing.text(numbers[i], {end + (leftwards ? -5 : 5), base},
                 {{size, bar.emphasised}, kGrey, leftwards ? Anchor::end : Anchor::start});
  }
  const double bottom = y + pitch * static_cast<double>(bars.bars.size());
  drawing.add(Line{{zero, y}, {zero, bottom}, {{kGrey}, 0.7}});
}

void draw_skyline(Drawing& drawing, const Bars& bars, double y) {
  const Sheet& sheet = drawing.sheet();
  const Extent extent = extent_of(bars);
  const std::vector<double> levels = ticks(AxisScale::linear, extent, 5);
  double left = 0;
  for (const double value : levels)
    left = std::max(left, drawing.width_of(format_short(value, 3), {kSmallSize}) + 6);
  const double width = sheet.width - left - kLeastSize;  // the name below the last bar is wider than the bar
  const double pitch = width / static_cast<double>(bars.bars.size());
  const auto height_at = [&](double value) { return y + kSkyline * (1 - share_of(value, extent)); };
  for (const double value : levels) {
    const double at = height_at(value);
    drawing.add(Line{{left, at}, {left + width, at}, {{value == 0 ? kGrey : kFaint}, 0.7}});
    drawing.text(format_short(value, 3), {left - 5, at + kMiddleToBase * kSmallSize},
                 {{kSmallSize}, kGrey, Anchor::end});
  }
  std::vector<double> scores;
  for (std::size_t i = 0; i < bars.bars.size(); ++i) {
    const Bar& bar = bars.bars[i];
    const double end = height_at(bar.value), zero = height_at(0);
    drawing.add(Rect{{left + static_cast<double>(i) * pitch, std::min(end, zero)},
                     std::max(pitch * 0.85, 0.3),
                     std::abs(end - zero),
                     Ink{bar.emphasised ? kEmphasised : kBar}});
    scores.push_back(bar.emphasised ? std::numeric_limits<double>::max() : std::abs(finite(bar.value)));
  }
  const double bottom = y + kSkyline;
  for (const std::size_t i : spaced_choice(scores, pitch, kLeastSize * 1.35)) {
    const Bar& bar = bars.bars[i];
    const Font font{kLeastSize, bar.emphasised};
    const double middle = left + (static_cast<double>(i) + 0.43) * pitch;
    const std::string name = fitted(numbered(i, drawable(bar.label)), 90, font, sheet.measure);
    drawing.add(Line{{middle, bottom}, {middle, bottom + 3}, {{kGrey}, 0.6}});
    drawing.text(name, {middle + kMiddleToBase * kLeastSize, bottom + 6}, {font, kBlack, Anchor::end, -90});
  }
}

}  // namespace

Scene lay_out(const Bars& bars, const Sheet& sheet) {
  Drawing drawing(sheet);
  const double y = drawing.part_title(bars.title);
  if (bars.bars.empty()) {
    drawing.note("no bars", {0, y});
  } else if (bars.bars.size() <= kMostLines) {
    draw_lines(drawing, bars, y);
  } else {
    draw_skyline(drawing, bars, y);
  }
  return std::move(drawing).finish();
}

}  // namespace attend::draw
