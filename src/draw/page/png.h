// Cells as a PNG, one pixel each.
#pragma once

#include <string>

#include "draw/page/scene.h"

namespace attend::draw {

// With a palette and without compression: one byte per cell, and no library needed.
std::string cells_png(const CellImage& image);

}  // namespace attend::draw
