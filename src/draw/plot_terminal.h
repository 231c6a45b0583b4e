// A plot in the terminal: lines of braille dots, with a different mark for each series, so that it works
// without colour.
#pragma once

#include <string>

#include "draw/plot.h"
#include "draw/terminal.h"

namespace attend::draw {

// height: lines between the axes' ends. Throws when a series does not have as many x as y.
std::string render_plot(const Plot& plot, const Terminal& terminal, int height = 14);

}  // namespace attend::draw
