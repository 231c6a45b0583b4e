// Building blocks for sentences and paragraphs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "draw/terminal.h"

namespace attend::draw {

std::string counted(std::int64_t count, std::string_view thing);  // "1 word", "12 words"
// “it”: text of unknown origin, short enough for a line and safe to print.
std::string in_quotes(std::string_view text);

// The text in lines of at most `width` columns, broken between words, and inside words that are longer.
std::string wrap(std::string_view text, int width);

// A heading in bold, and text broken into lines that fit.
std::string heading(std::string_view text, const Terminal& terminal);
std::string paragraph(std::string_view text, const Terminal& terminal);

}  // namespace attend::draw
