#include "draw/plot_canvas.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

namespace attend::draw {
namespace {

// Bits of Unicode's braille patterns (U+2800 + bits), by row and column of the dot.
constexpr std::array<std::array<std::uint8_t, 2>, 4> kDots{
    {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}};

std::string braille(std::uint8_t dots) {
  return {'\xE2', static_cast<char>(0xA0 + (dots >> 6)), static_cast<char>(0x80 + (dots & 0x3F))};
}

}  // namespace

PlotCanvas::PlotCanvas(int width, int height)
    : width_(width), height_(height), cells_(static_cast<std::size_t>(width * height)) {}

void PlotCanvas::line(int x0, int y0, int x1, int y1, int series) {
  const int steps = std::max({std::abs(x1 - x0), std::abs(y1 - y0), 1});
  for (int i = 0; i <= steps; ++i) {
    const double share = static_cast<double>(i) / steps;
    const auto x = static_cast<int>(std::lround(x0 + share * (x1 - x0)));
    const auto y = static_cast<int>(std::lround(y0 + share * (y1 - y0)));
    Cell& cell = at(x, y);
    cell.dots |= kDots[static_cast<std::size_t>(y % 4)][static_cast<std::size_t>(x % 2)];
    if (!cell.marked) cell.series = series;
  }
}

void PlotCanvas::mark(int x, int y, int series) {
  Cell& cell = at(x, y);
  cell.series = series;
  cell.marked = true;
}

std::string_view PlotCanvas::mark_of(int series) {
  constexpr std::array<std::string_view, 6> kMarks{"●", "○", "▲", "△", "■", "□"};
  return kMarks[static_cast<std::size_t>(series) % kMarks.size()];
}

void PlotCanvas::add_row(int row, StyledLine& line) const {
  for (int column = 0; column < width_; ++column) {
    const Cell& cell = cells_[static_cast<std::size_t>(row * width_ + column)];
    if (cell.series < 0) {
      line.add(" ");
    } else {
      const Style style{.text = series_color(cell.series)};
      line.add(cell.marked ? std::string(mark_of(cell.series)) : braille(cell.dots), style);
    }
  }
}

}  // namespace attend::draw
