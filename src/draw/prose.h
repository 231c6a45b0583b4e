// Sentences in the terminal.
#pragma once

#include <string>
#include <string_view>

#include "draw/terminal.h"

namespace attend::draw {

// A heading in bold, and text broken into lines that fit.
std::string heading(std::string_view text, const Terminal& terminal);
std::string paragraph(std::string_view text, const Terminal& terminal);

}  // namespace attend::draw
