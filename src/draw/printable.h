// The gate through which text of unknown origin reaches a terminal or a figure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace attend::draw {

// What a text may contain besides words.
enum class Allow : std::uint8_t {
  words,   // nothing else: a label or a sentence, which stays on its line
  lines,   // newlines and tabs: a text, such as what a model writes
  styles,  // newlines, tabs and the styles of style.h: output of our renderers
};

// The text made safe to show: no byte of it can control the terminal, hide anything or reorder the text
// around it. Control characters become their pictures (ESC is ␛); those without a picture, and invisible
// characters, become ␦; bytes that are not UTF-8, and code points that are not characters, become U+FFFD.
// Joiners and variation selectors stay where they shape a letter or an emoji. A mark without a letter gets a
// dotted circle, and marks beyond what any language puts on one letter become a single ␦. A line with
// right-to-left letters ends with a left-to-right mark, which keeps the numbers after it in their columns.
// Ordinary text is unchanged, and applying the function twice changes nothing more.
std::string printable(std::string_view text, Allow allow = Allow::words);

}  // namespace attend::draw
