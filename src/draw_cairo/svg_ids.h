// Renumbers the ids in an SVG file written by Cairo from 0; Cairo keeps counting across all files of a
// process.
#pragma once

#include <string>
#include <string_view>

namespace attend::draw {

// Also tells viewers to keep the cells of maps sharp instead of smoothing them.
std::string with_own_ids(std::string_view svg);

}  // namespace attend::draw
