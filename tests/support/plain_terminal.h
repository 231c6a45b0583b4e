// A terminal of so many columns, without colour.
#pragma once

#include "draw/terminal.h"

namespace attend::draw {

inline Terminal plain(int width) { return {ColorDepth::none, width}; }

}  // namespace attend::draw
