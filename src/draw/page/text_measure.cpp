#include "draw/page/text_measure.h"

#include <array>
#include <cstdint>

#include "draw/text_width.h"

namespace attend::draw {
namespace {

// Widths from the space to the tilde in DejaVu Sans, in hundredths of the font size. It is wider than
// Helvetica, Arial and the like.
constexpr std::array<std::uint8_t, 95> kAscii{
    32, 40, 46, 84, 64, 95, 78, 27, 39,  39, 50, 84, 32, 36, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 34, 34, 84, 84, 84, 53, 100, 68, 69, 70, 77, 63, 58, 77, 75, 29, 29, 66, 56, 86, 75, 79,
    60, 79, 69, 63, 61, 73, 68, 99, 69,  61, 69, 39, 34, 39, 84, 50, 50, 61, 63, 55, 63, 62, 35, 63,
    63, 28, 28, 58, 28, 97, 63, 61, 63,  63, 41, 52, 39, 63, 59, 82, 59, 59, 52, 64, 34, 64, 84};
constexpr double kLetter = 0.74;  // of another alphabet: on average Greek 0.60, Arabic 0.64, Cyrillic 0.67
constexpr double kWide = 1.05;    // Chinese, Japanese, Korean
constexpr double kPicture = 1.3;  // emoji
constexpr double kBoldFactor = 1.14;
constexpr unsigned char kFirstOfFourBytes = 0xF0;  // emoji, and rare Chinese characters

double width_of(std::string_view character) {
  const auto first = static_cast<unsigned char>(character.front());
  if (character.size() == 1 && first >= 0x20 && first < 0x7F) return kAscii[first - 0x20] / 100.0;
  const int columns = text_width(character);
  if (columns == 2) return first >= kFirstOfFourBytes ? kPicture : kWide;
  return columns * kLetter;
}

}  // namespace

double UsualFonts::width(std::string_view text, Font font) const {
  double sizes = 0;
  for (const std::string_view character : characters(text)) sizes += width_of(character);
  return sizes * font.size * (font.bold ? kBoldFactor : 1);
}

}  // namespace attend::draw
