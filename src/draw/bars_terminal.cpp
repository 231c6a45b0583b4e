#include "draw/bars_terminal.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "draw/number.h"
#include "draw/prose.h"
#include "draw/style.h"
#include "draw/text_width.h"

namespace attend::draw {
namespace {

constexpr int kMostBarColumns = 48;  // longer bars are not easier to compare

// From zero to the right, in eighths of a column.
std::string bar_to_right(double columns) {
  constexpr std::array<std::string_view, 8> kEighths{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = static_cast<int>(std::lround(columns * 8));
  return repeat("█", eighths / 8).append(kEighths[static_cast<std::size_t>(eighths % 8)]);
}

// From zero to the left, in halves: Unicode has no finer block that is filled from the right.
std::string bar_to_left(double columns, int room) {
  const auto halves = static_cast<int>(std::lround(columns * 2));
  return pad_left(repeat("▐", halves % 2) + repeat("█", halves / 2), room);
}

struct BarLayout {
  int label_width = 0, number_width = 0;
  int left = 0, right = 0;  // columns for bars on either side of zero
  double unit = 0;          // the value of one column
};

BarLayout lay_out(const Bars& bars, const std::vector<std::string>& numbers, int width) {
  BarLayout layout;
  double lowest = 0, highest = 0;
  for (const Bar& bar : bars.bars) {
    layout.label_width = std::max(layout.label_width, text_width(printable(bar.label)));
    if (!std::isfinite(bar.value)) continue;
    lowest = std::min(lowest, bar.value);
    highest = std::max(highest, bar.value);
  }
  if (bars.full_length > 0) highest = bars.full_length;
  if (bars.full_length > 0 && lowest < 0) lowest = -bars.full_length;
  for (const auto& number : numbers) layout.number_width = std::max(layout.number_width, text_width(number));
  layout.label_width = std::min(layout.label_width, width / 3);
  const int room = std::clamp(width - layout.label_width - layout.number_width - 4, 0, kMostBarColumns);
  // Divided before subtracting: the difference of two doubles may be larger than any double.
  layout.unit = room == 0 ? 0 : highest / room - lowest / room;
  layout.left = layout.unit > 0 ? static_cast<int>(std::ceil(-lowest / layout.unit)) : 0;
  layout.right = std::max(0, room - layout.left);
  return layout;
}

std::string bar_of(double value, const BarLayout& layout) {
  const double columns = layout.unit > 0 && !std::isnan(value) ? value / layout.unit : 0;
  const double longest_left = layout.left, longest_right = layout.right;
  return bar_to_left(std::clamp(-columns, 0.0, longest_left), layout.left) +
         bar_to_right(std::clamp(columns, 0.0, longest_right));
}

}  // namespace

std::string render_bars(const Bars& bars, const Terminal& terminal, int most_decimals) {
  std::vector<double> values;
  for (const Bar& bar : bars.bars) values.push_back(bar.value);
  const NumberFormat format = number_format_for(values, most_decimals);
  std::vector<std::string> numbers;
  for (const double value : values) numbers.push_back(format_number(value, format));
  const BarLayout layout = lay_out(bars, numbers, terminal.width);

  std::string text;
  StyledLine line(terminal.color);
  if (!bars.title.empty()) text += heading(printable(bars.title), terminal);
  for (std::size_t i = 0; i < bars.bars.size(); ++i) {
    const Style words{.emphasis = bars.bars[i].emphasised ? Emphasis::bold : Emphasis::none};
    const std::string label = shorten(printable(bars.bars[i].label), layout.label_width);
    line.add(pad_right(label, layout.label_width), words).add("  ");
    line.add(pad_left(numbers[i], layout.number_width), words).add("  ");
    text += line.add(bar_of(bars.bars[i].value, layout), {.text = series_color(0)}).finish();
  }
  return text;
}

}  // namespace attend::draw
