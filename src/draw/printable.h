// The gate through which text of unknown origin reaches a terminal or a figure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace attend::draw {

// What of a text is more than words.
enum class Allow : std::uint8_t {
  words,   // nothing: a label or a sentence, which stays on its line
  lines,   // line ends and tabs: a text, such as what a model writes
  styles,  // line ends, tabs and the styles of style.h: what our renderers made
};

// The text as it may be shown: no byte of it can drive the terminal, hide something or reorder what stands
// beside it. Control characters become their pictures (ESC is ␛); those without a picture, and characters
// that show nothing, become ␦; bytes that are not UTF-8, and numbers that are not a character, become U+FFFD.
// Joiners and variation selectors stay where they shape a letter or an emoji. A mark with no letter to stand
// on gets a dotted circle, and of a letter with more marks than any language has the rest become one ␦. A
// line with right-to-left letters ends in a left-to-right mark, which keeps the numbers after it in their
// columns. Ordinary text stays as it is, and so does what went through the gate before.
std::string printable(std::string_view text, Allow allow = Allow::words);

}  // namespace attend::draw
