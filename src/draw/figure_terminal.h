// A whole figure in the terminal.
#pragma once

#include <string>

#include "draw/figure.h"
#include "draw/heatmap_terminal.h"
#include "draw/terminal.h"

namespace attend::draw {

// Title, parts separated by blank lines, notes. Ends with a newline; no line is wider than the terminal.
std::string render_figure(const Figure& figure, const Terminal& terminal, const HeatmapOptions& options = {});

}  // namespace attend::draw
