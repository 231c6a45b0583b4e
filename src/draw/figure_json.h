// A figure's description as JSON: the same bytes for the same figure, on any machine.
#pragma once

#include <string>

#include "draw/figure.h"

namespace attend::draw {

// One line, without a newline. Keys are in a fixed order; what was not given is omitted. In a matrix a masked
// cell is null; numbers that JSON cannot express are "nan", "inf" and "-inf". digits: significant digits of
// every value; 0: as many as it takes to read back the same double. Throws when the sizes of a part do not
// agree.
std::string figure_json(const Figure& figure, int digits = 0);

}  // namespace attend::draw
