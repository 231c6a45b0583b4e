// Cells as the bytes of a PNG, one pixel each.
#pragma once

#include <string>

#include "draw/page/scene.h"

namespace attend::draw {

// With a palette and without compression: a byte a cell, and no library.
std::string cells_png(const CellImage& image);

}  // namespace attend::draw
