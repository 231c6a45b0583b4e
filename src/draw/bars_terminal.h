// Bars in the terminal, one per line: label, number, bar. Accurate to an eighth of a column; negative values
// extend to the left of zero.
#pragma once

#include <string>

#include "draw/bars.h"
#include "draw/terminal.h"

namespace attend::draw {

std::string render_bars(const Bars& bars, const Terminal& terminal, int most_decimals = 4);

}  // namespace attend::draw
