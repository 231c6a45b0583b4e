// Colours: the scale that every figure uses, legible text on top of it, and the nearest of a terminal's 256
// colours.
#pragma once

#include <cstdint>

namespace attend::draw {

struct Rgb {
  std::uint8_t r = 0, g = 0, b = 0;
  friend bool operator==(const Rgb&, const Rgb&) = default;
};

// The scale at t in [0, 1] (values outside are clamped): dark indigo through teal to light yellow. Equal
// steps of t look equally far apart, and lightness alone orders them, so the scale also works in greyscale
// and with any colour vision.
Rgb scale_color(double t);

// The same scale in the colours that a 256-colour terminal has: nine steps, in the same order and about as
// saturated. (The nearest colour of the whole palette would be grey at the dark end.)
Rgb scale_color_xterm256(double t);

// The scale on paper, reversed: almost white through the same green and teal to dark indigo. Small values
// fade into a light page as they fade into a dark terminal, and more ink means more weight.
Rgb paper_color(double t);

// Colours for the series of a plot: distinguishable with any colour vision, on dark and on light backgrounds.
Rgb series_color(int index);

// WCAG 2: relative luminance in [0, 1], and the contrast ratio of two colours in [1, 21].
double luminance(Rgb color);
double contrast(Rgb a, Rgb b);

// Black or white, whichever has more contrast: at least 4.58 : 1, above the 4.5 : 1 that WCAG AA requires.
Rgb text_color_on(Rgb background);

// The entry among 16..255 of xterm's palette that looks nearest to a colour, and the colour of such an entry.
// The first sixteen are not used: every user sets those differently.
int nearest_xterm256(Rgb color);
Rgb xterm256_color(int index);

}  // namespace attend::draw
