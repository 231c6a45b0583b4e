// Text that fits: cut to a width, or broken into lines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "draw/page/text_measure.h"

namespace attend::draw {

// A label of unknown origin and length as it may be drawn: printable, and not longer than anything could
// show.
std::string drawable(std::string_view label);

// Whether nothing in it can be of another script or direction.
bool is_ascii(std::string_view text);

// At most `width` wide, cut between characters; what was cut shows as a last "…".
std::string fitted(const std::string& text, double width, Font font, const TextMeasure& measure);

// Lines of at most `width`, broken between words, inside those that are longer, and after `most` lines.
std::vector<std::string> broken(std::string_view text, double width, Font font, const TextMeasure& measure,
                                std::size_t most = 12);

}  // namespace attend::draw
