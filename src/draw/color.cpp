// Colours are compared and mixed in OKLab (Ottosson 2020, https://bottosson.github.io/posts/oklab/), where
// equal distances look roughly equal.
#include "draw/color.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace attend::draw {
namespace {

using Anchors = std::array<Rgb, 13>;

// Our own scale: a curve in OKLab along which lightness rises from 0.24 to 0.945 and hue goes from 283
// (indigo) to 108 degrees (yellow), divided into twelve segments of equal length.
constexpr Anchors kAnchors{{{0x1c, 0x18, 0x41},
                            {0x23, 0x29, 0x59},
                            {0x27, 0x3b, 0x71},
                            {0x25, 0x50, 0x85},
                            {0x1c, 0x66, 0x93},
                            {0x15, 0x7d, 0x9b},
                            {0x1a, 0x93, 0xa0},
                            {0x2c, 0xa8, 0xa2},
                            {0x4c, 0xbb, 0x9e},
                            {0x74, 0xcd, 0x98},
                            {0x9e, 0xdc, 0x91},
                            {0xca, 0xe9, 0x8d},
                            {0xf5, 0xf4, 0x8d}}};

// Likewise, for paper: lightness falls from 0.985 to 0.25, hue goes from 108 to 283 degrees, and saturation
// starts near zero because the page is white.
constexpr Anchors kPaperAnchors{{{0xfb, 0xfb, 0xee},
                                 {0xe4, 0xec, 0xc6},
                                 {0xc3, 0xdc, 0xae},
                                 {0x99, 0xce, 0xa6},
                                 {0x70, 0xbf, 0xa4},
                                 {0x48, 0xac, 0xa3},
                                 {0x21, 0x98, 0xa0},
                                 {0x01, 0x83, 0x9b},
                                 {0x06, 0x6c, 0x92},
                                 {0x16, 0x56, 0x85},
                                 {0x1e, 0x40, 0x75},
                                 {0x22, 0x2c, 0x5e},
                                 {0x1e, 0x1b, 0x44}}};

// The palette entries nearest to that curve, in its order.
constexpr std::array<int, 9> kXtermSteps{17, 18, 24, 31, 37, 79, 150, 186, 228};

// Based on Okabe and Ito's palette, which works with any colour vision; of medium lightness, so that they
// show on black and on white backgrounds.
constexpr std::array<Rgb, 6> kSeries{{{0x2f, 0x8f, 0xd0},
                                      {0xd9, 0x7a, 0x1e},
                                      {0x0f, 0x9e, 0x78},
                                      {0xc9, 0x70, 0xa3},
                                      {0x8a, 0x86, 0x80},
                                      {0xb8, 0x9b, 0x1d}}};

struct Lab {
  double l = 0, a = 0, b = 0;
};

double to_linear(std::uint8_t channel) {
  const double c = channel / 255.0;
  return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
}

std::uint8_t from_linear(double c) {
  const double encoded = c <= 0.0031308 ? 12.92 * c : 1.055 * std::pow(c, 1 / 2.4) - 0.055;
  return static_cast<std::uint8_t>(std::lround(255 * std::clamp(encoded, 0.0, 1.0)));
}

Lab to_lab(Rgb color) {
  const double r = to_linear(color.r), g = to_linear(color.g), b = to_linear(color.b);
  const double l = std::cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const double m = std::cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const double s = std::cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return {0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
          1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
          0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s};
}

Rgb to_rgb(Lab lab) {
  const auto cube = [](double x) { return x * x * x; };
  const double l = cube(lab.l + 0.3963377774 * lab.a + 0.2158037573 * lab.b);
  const double m = cube(lab.l - 0.1055613458 * lab.a - 0.0638541728 * lab.b);
  const double s = cube(lab.l - 0.0894841775 * lab.a - 1.2914855480 * lab.b);
  return {from_linear(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
          from_linear(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
          from_linear(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s)};
}

double distance_squared(Lab x, Lab y) {
  return (x.l - y.l) * (x.l - y.l) + (x.a - y.a) * (x.a - y.a) + (x.b - y.b) * (x.b - y.b);
}

Lab lab_on_scale(double t, const Anchors& anchors = kAnchors) {
  if (!(t > 0)) return to_lab(anchors.front());
  if (t >= 1) return to_lab(anchors.back());
  const double place = t * static_cast<double>(anchors.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const double share = place - static_cast<double>(below);
  const Lab from = to_lab(anchors[below]), to = to_lab(anchors[below + 1]);
  return {std::lerp(from.l, to.l, share), std::lerp(from.a, to.a, share), std::lerp(from.b, to.b, share)};
}

constexpr int kFirstXterm = 16;
constexpr int kFirstGrey = 232;
constexpr int kEndXterm = 256;

}  // namespace

Rgb scale_color(double t) { return to_rgb(lab_on_scale(t)); }

Rgb paper_color(double t) { return to_rgb(lab_on_scale(t, kPaperAnchors)); }

Rgb scale_color_xterm256(double t) {
  // By lightness alone, so that the steps keep their order even where one is more saturated than the scale.
  const double wanted = lab_on_scale(t).l;
  const auto distance = [&](int step) { return std::abs(to_lab(xterm256_color(step)).l - wanted); };
  return xterm256_color(*std::min_element(kXtermSteps.begin(), kXtermSteps.end(),
                                          [&](int x, int y) { return distance(x) < distance(y); }));
}

Rgb series_color(int index) { return kSeries[static_cast<std::size_t>(index) % kSeries.size()]; }

double luminance(Rgb color) {
  return 0.2126 * to_linear(color.r) + 0.7152 * to_linear(color.g) + 0.0722 * to_linear(color.b);
}

double contrast(Rgb a, Rgb b) {
  const auto [dark, light] = std::minmax({luminance(a), luminance(b)});
  return (light + 0.05) / (dark + 0.05);
}

Rgb text_color_on(Rgb background) {
  constexpr Rgb black{0, 0, 0}, white{255, 255, 255};
  return contrast(background, black) > contrast(background, white) ? black : white;
}

Rgb xterm256_color(int index) {
  index = std::clamp(index, kFirstXterm, kEndXterm - 1);
  if (index >= kFirstGrey) {
    const auto grey = static_cast<std::uint8_t>(8 + 10 * (index - kFirstGrey));
    return {grey, grey, grey};
  }
  const auto level = [](int n) { return static_cast<std::uint8_t>(n == 0 ? 0 : 55 + 40 * n); };
  const int cube = index - kFirstXterm;
  return {level(cube / 36), level(cube / 6 % 6), level(cube % 6)};
}

int nearest_xterm256(Rgb color) {
  static const auto palette = [] {
    std::array<Lab, kEndXterm - kFirstXterm> all;
    for (int i = kFirstXterm; i < kEndXterm; ++i)
      all[static_cast<std::size_t>(i - kFirstXterm)] = to_lab(xterm256_color(i));
    return all;
  }();
  const Lab wanted = to_lab(color);
  const auto nearest = std::min_element(palette.begin(), palette.end(), [&](const Lab& x, const Lab& y) {
    return distance_squared(x, wanted) < distance_squared(y, wanted);
  });
  return kFirstXterm + static_cast<int>(nearest - palette.begin());
}

}  // namespace attend::draw
