// A grid of characters with 2 x 4 braille dots each, on which lines and marks are drawn. Part of
// plot_terminal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "draw/style.h"

namespace attend::draw {

class PlotCanvas {
 public:
  PlotCanvas(int width, int height);  // in characters

  int dots_across() const { return width_ * 2; }
  int dots_down() const { return height_ * 4; }

  // In dots, from the upper left corner; all must lie on the canvas.
  void line(int x0, int y0, int x1, int y1, int series);
  void mark(int x, int y, int series);

  void add_row(int row, StyledLine& line) const;

  static std::string_view mark_of(int series);

 private:
  struct Cell {
    std::uint8_t dots = 0;
    int series = -1;  // whose colour it has
    bool marked = false;
  };
  Cell& at(int x, int y) { return cells_[static_cast<std::size_t>(y / 4 * width_ + x / 2)]; }

  int width_, height_;
  std::vector<Cell> cells_;
};

}  // namespace attend::draw
