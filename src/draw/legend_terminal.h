// The colour scale of a map in the terminal, with the values at its ends.
#pragma once

#include <string>

#include "draw/heatmap.h"
#include "draw/terminal.h"

namespace attend::draw {

// One line, indented by `margin` columns; empty where it does not fit.
std::string render_legend(ValueRange range, int margin, const Terminal& terminal);

}  // namespace attend::draw
