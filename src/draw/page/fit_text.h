// Text that fits: cut to a width, or broken into lines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "draw/page/text_measure.h"

namespace attend::draw {

// A label of unknown origin and length, made safe to draw: printable, and no longer than any page could show.
std::string drawable(std::string_view label);

// Whether it is plain ASCII: no other script, no other direction.
bool is_ascii(std::string_view text);

// At most `width` wide, cut between characters; a cut shows as a final "…".
std::string fitted(const std::string& text, double width, Font font, const TextMeasure& measure);

// Lines of at most `width`, broken between words, inside those that are longer, and after `most` lines.
std::vector<std::string> broken(std::string_view text, double width, Font font, const TextMeasure& measure,
                                std::size_t most = 12);

}  // namespace attend::draw
