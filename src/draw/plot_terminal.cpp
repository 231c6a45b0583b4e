#include "draw/plot_terminal.h"

#include <algorithm>
#include <cmath>

#include "draw/number.h"
#include "draw/plot_canvas.h"
#include "draw/style.h"
#include "draw/text_width.h"

namespace attend::draw {
namespace {

constexpr int kMostPlotColumns = 72;
constexpr int kDotsBetweenMarks = 8;

// A position as one of `dots` dots.
int dot_of(double place, Extent extent, int dots) {
  const double share = (place - extent.low) / (extent.high - extent.low);
  return std::clamp(static_cast<int>(std::lround(share * (dots - 1))), 0, dots - 1);
}

struct Tick {
  int cell = 0;  // the line, or the column, that it marks
  std::string text;
};

std::vector<Tick> marks_at(const std::vector<double>& values, AxisScale scale, Extent extent, int cells,
                           int dots_a_cell) {
  std::vector<Tick> marks;
  for (const double value : values) {
    marks.push_back(
        {dot_of(along(scale, value), extent, cells * dots_a_cell) / dots_a_cell, format_short(value)});
  }
  return marks;
}

void draw_series(PlotCanvas& canvas, const Plot& plot, int index, Extent x_range, Extent y_range) {
  const Series& series = plot.series[static_cast<std::size_t>(index)];
  int before_x = -1, before_y = -1, marked_x = -kDotsBetweenMarks;
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    const double x = along(plot.x.scale, series.x[i]), y = along(plot.y.scale, series.y[i]);
    if (std::isnan(x) || std::isnan(y)) {
      before_x = -1;  // the line stops at a point that cannot be shown, and starts again after it
      continue;
    }
    const int at_x = dot_of(x, x_range, canvas.dots_across());
    const int at_y = canvas.dots_down() - 1 - dot_of(y, y_range, canvas.dots_down());
    if (before_x >= 0) canvas.line(before_x, before_y, at_x, at_y, index);
    if (std::abs(at_x - marked_x) >= kDotsBetweenMarks || before_x < 0) {
      canvas.mark(at_x, at_y, index);
      marked_x = at_x;
    }
    before_x = at_x;
    before_y = at_y;
  }
}

std::string legend(const Plot& plot, int width, ColorDepth depth) {
  std::string text;
  StyledLine line(depth);
  int used = 0;
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const auto index = static_cast<int>(i);
    const std::string name = shorten(printable(plot.series[i].name), width - 2);
    const int needed = 2 + text_width(name);
    if (used > 0 && used + 3 + needed > width) {
      text += line.finish();
      used = 0;
    }
    if (used > 0) line.add("   ");
    line.add(PlotCanvas::mark_of(index), {.text = series_color(index)}).add(" ").add(name);
    used += needed + (used > 0 ? 3 : 0);
  }
  return used > 0 ? text + line.finish() : text;
}

// The x axis, its marks, and below each mark its number where there is room.
std::string x_axis(const Plot& plot, Extent extent, int margin, int width, ColorDepth depth) {
  std::string numbers;
  std::vector<bool> marked(static_cast<std::size_t>(width));
  int used = 0;
  for (const Tick& tick : marks_at(x_ticks(plot, std::max(2, width / 5)), plot.x.scale, extent, width, 2)) {
    marked[static_cast<std::size_t>(tick.cell)] = true;
    const int length = text_width(tick.text);
    const int start = std::clamp(tick.cell - length / 2, 0, std::max(0, width - length));
    if (start < used || start + length > width) continue;
    numbers = pad_right(numbers, start) + tick.text;
    used = start + length + 1;
  }
  std::string rule;
  for (const bool mark : marked) rule += mark ? "┬" : "─";
  StyledLine line(depth);
  std::string text = line.add(repeat(" ", margin)).add("└" + rule, kDim).finish();
  text += line.add(repeat(" ", margin + 1)).add(numbers, kDim).finish();
  if (!plot.x.label.empty()) {
    const std::string label = shorten(printable(plot.x.label), width);
    text += line.add(repeat(" ", margin + 1)).add(pad_both(label, width), kDim).finish();
  }
  return text;
}

std::string note(const Plot& plot, const Terminal& terminal) {
  const int left_out = points_left_out(plot);
  if (left_out == 0) return {};
  const std::string text = std::to_string(left_out) + (left_out == 1 ? " point is" : " points are") +
                           " not shown: not finite, or not above 0 on a logarithmic axis";
  return styled(shorten(text, terminal.width), kDim, terminal.color) + "\n";
}

}  // namespace

std::string render_plot(const Plot& plot, const Terminal& terminal, int height) {
  check(plot);
  height = std::max(height, 3);
  const Extent x_range = x_extent(plot), y_range = y_extent(plot);
  const auto y_ticks =
      marks_at(ticks(plot.y.scale, y_range, height / 3 + 1), plot.y.scale, y_range, height, 4);
  int margin = 0;
  for (const Tick& tick : y_ticks) margin = std::max(margin, text_width(tick.text) + 1);
  const int width = std::clamp(terminal.width - margin - 1, 4, kMostPlotColumns);

  PlotCanvas canvas(width, height);
  for (int i = static_cast<int>(plot.series.size()) - 1; i >= 0; --i)
    draw_series(canvas, plot, i, x_range, y_range);

  std::string text;
  StyledLine line(terminal.color);
  const auto heading = [&](const std::string& words, const Style& style) {
    if (!words.empty()) text += line.add(shorten(printable(words), terminal.width), style).finish();
  };
  heading(plot.title, {.emphasis = Emphasis::bold});
  text += legend(plot, terminal.width, terminal.color);
  heading(plot.y.label, kDim);
  for (int row = 0; row < height; ++row) {
    const auto tick = std::find_if(y_ticks.begin(), y_ticks.end(),
                                   [&](const Tick& mark) { return mark.cell == height - 1 - row; });
    const bool marked = tick != y_ticks.end();
    line.add(pad_left(marked ? tick->text + " " : "", margin), kDim).add(marked ? "┤" : "│", kDim);
    canvas.add_row(row, line);
    text += line.finish();
  }
  return text + x_axis(plot, x_range, margin, width, terminal.color) + note(plot, terminal);
}

}  // namespace attend::draw
