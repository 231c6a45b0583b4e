// The body of a heatmap in the terminal: the lines of labels and cells, without title and legend. Part of
// heatmap_terminal; the caller has made sure that it fits.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "draw/heatmap.h"
#include "draw/number.h"
#include "draw/style.h"
#include "draw/terminal.h"

namespace attend::draw {

struct RowLabels {
  std::vector<std::string> texts;         // printable, one per line of cells
  int width = 0;                          // columns they take, including the blank after them
  std::optional<std::size_t> focus = {};  // a line to highlight
};

// The shade for a position on the scale: one of " ░▒▓█".
std::string_view shade(double place);

// A number in every cell, `cell_width` columns each.
std::string number_lines(const Heatmap& map, const RowLabels& labels, NumberFormat format, int cell_width,
                         ColorDepth depth);

// Two columns per cell.
std::string square_lines(const Heatmap& map, const RowLabels& labels, ColorDepth depth);

// How many rows share a line of pixels: two with colour, otherwise one.
std::size_t rows_per_pixel_line(ColorDepth depth);

// Adds a line of pixels, one column per cell: the rows from `row` on that share it.
void add_pixels(StyledLine& line, const Heatmap& map, std::size_t row, ColorDepth depth);

// Lines of pixels below a ruler. column_counts: the number of each column; every tenth is shown.
std::string pixel_lines(const Heatmap& map, const RowLabels& labels,
                        const std::vector<std::string>& column_counts, ColorDepth depth);

}  // namespace attend::draw
