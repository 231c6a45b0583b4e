// The ids in an SVG file of Cairo's, which count on over all files of a process, counted from 0 in each.
#pragma once

#include <string>
#include <string_view>

namespace attend::draw {

// Also tells viewers to keep the cells of maps sharp, and not to smooth them.
std::string with_own_ids(std::string_view svg);

}  // namespace attend::draw
