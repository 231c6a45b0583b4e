// Colours: the scale of every figure, text that can be read on it, and the nearest of a terminal's 256
// colours.
#pragma once

#include <cstdint>

namespace attend::draw {

struct Rgb {
  std::uint8_t r = 0, g = 0, b = 0;
  friend bool operator==(const Rgb&, const Rgb&) = default;
};

// The scale at t in [0, 1] (values outside are moved to the ends): dark indigo over teal to light yellow.
// Equal steps of t look equally far apart, and lightness alone orders them, so the scale also reads in grey
// and with any colour vision.
Rgb scale_color(double t);

// The same scale in the colours that a 256-colour terminal has: nine steps, as saturated and as ordered as
// the scale. (The nearest colour of the whole palette would be grey at the dark end.)
Rgb scale_color_xterm256(double t);

// The scale on paper: the other way round, almost white to dark indigo over the same green and teal. What is
// small fades into a light page as it fades into a dark terminal, and ink stands for weight.
Rgb paper_color(double t);

// Colours of successive series of a plot, told apart with any colour vision and on dark and light
// backgrounds.
Rgb series_color(int index);

// WCAG 2: relative luminance in [0, 1], and the contrast ratio of two colours in [1, 21].
double luminance(Rgb color);
double contrast(Rgb a, Rgb b);

// Black or white, whichever stands out more. The worse case of the two is 4.58 : 1, above the 4.5 that WCAG
// AA asks.
Rgb text_color_on(Rgb background);

// The colour among 16..255 of xterm's palette that looks nearest, and what a number of that palette looks
// like. The first sixteen are left out: every user sets those differently.
int nearest_xterm256(Rgb color);
Rgb xterm256_color(int index);

}  // namespace attend::draw
