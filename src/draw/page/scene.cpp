#include "draw/page/scene.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace attend::draw {

std::array<Point, 4> corners_of(const Text& text) {
  const double start = text.anchor == Anchor::start    ? 0
                       : text.anchor == Anchor::middle ? -text.width / 2
                                                       : -text.width;
  const double top = -kAscent * text.font.size, bottom = kDescent * text.font.size;
  const double radians = text.angle * std::numbers::pi / 180;
  const auto rotated = [&](double x, double y) {
    return Point{text.at.x + x * std::cos(radians) - y * std::sin(radians),
                 text.at.y + x * std::sin(radians) + y * std::cos(radians)};
  };
  const double end = start + text.width;
  return {rotated(start, top), rotated(end, top), rotated(end, bottom), rotated(start, bottom)};
}

const std::array<Rgb, 256>& cell_palette() {
  static const auto palette = [] {
    std::array<Rgb, 256> colors;
    for (std::size_t i = 0; i <= kLastStep; ++i)
      colors[i] = paper_color(static_cast<double>(i) / static_cast<double>(kLastStep));
    colors[kMaskedCell] = {0xe3, 0xe3, 0xe6};  // neutral, where the scale is never grey
    colors[kNanCell] = {0xe0, 0x8a, 0x6a};     // warm, where the scale is always cool
    return colors;
  }();
  return palette;
}

std::uint8_t cell_at(double place) {
  if (std::isnan(place)) return kNanCell;
  return static_cast<std::uint8_t>(std::lround(std::clamp(place, 0.0, 1.0) * kLastStep));
}

}  // namespace attend::draw
