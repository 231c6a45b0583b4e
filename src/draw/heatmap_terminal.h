// A heatmap in the terminal, in the richest form that fits its width:
//   numbers    each cell a number on its colour; without colour, the number and a shade
//   squares    each cell two columns of colour or shade, column labels written vertically
//   pixels     one column per cell; with colour two rows share a line; columns are numbered, not named
//   pooled     pixels, each the maximum of a block of cells; a line below says so
#pragma once

#include <string>

#include "draw/heatmap.h"
#include "draw/terminal.h"

namespace attend::draw {

struct HeatmapOptions {
  int most_decimals = 4;
  int most_lines = 100;  // a taller map is pooled
  bool legend = true;
};

// Throws when the map's sizes do not agree. Ends with a newline; no line is wider than the terminal.
std::string render_heatmap(const Heatmap& map, const Terminal& terminal, const HeatmapOptions& options = {});

}  // namespace attend::draw
