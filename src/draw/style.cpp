#include "draw/style.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

namespace attend::draw {
namespace {

// kind: 38 for text, 48 for background.
std::string color_code(const char* kind, Rgb color, ColorDepth depth) {
  std::string code = std::string(";") + kind;
  if (depth == ColorDepth::ansi256) return code + ";5;" + std::to_string(nearest_xterm256(color));
  return code + ";2;" + std::to_string(color.r) + ";" + std::to_string(color.g) + ";" +
         std::to_string(color.b);
}

constexpr std::size_t kSteps = 256;

std::array<Style, kSteps> all_cell_styles(Rgb (*scale)(double)) {
  std::array<Style, kSteps> styles;
  for (std::size_t i = 0; i < kSteps; ++i) {
    const Rgb background = scale(static_cast<double>(i) / (kSteps - 1));
    styles[i] = {.text = text_color_on(background), .background = background};
  }
  return styles;
}

}  // namespace

Style cell_style(double place, ColorDepth depth) {
  static const auto full = all_cell_styles(scale_color);
  static const auto of_256 = all_cell_styles(scale_color_xterm256);
  const double step = place > 0 ? std::min(place, 1.0) * (kSteps - 1) : 0;
  return (depth == ColorDepth::ansi256 ? of_256 : full)[static_cast<std::size_t>(std::lround(step))];
}

void StyledLine::change_to(const Style& style) {
  if (depth_ == ColorDepth::none || style == now_) return;
  now_ = style;
  line_ += "\x1b[0";
  if (style.emphasis == Emphasis::bold) line_ += ";1";
  if (style.emphasis == Emphasis::dim) line_ += ";2";
  if (style.text) line_ += color_code("38", *style.text, depth_);
  if (style.background) line_ += color_code("48", *style.background, depth_);
  line_ += 'm';
}

StyledLine& StyledLine::add(std::string_view text, const Style& style) {
  const bool blanks_show = style.background && depth_ != ColorDepth::none;
  const std::size_t visible = blanks_show ? text.size() : text.find_last_not_of(' ') + 1;
  if (visible > 0) {
    if (blanks_ > 0 && now_.background) change_to({});
    line_.append(std::exchange(blanks_, 0), ' ');
    change_to(style);
    line_ += text.substr(0, visible);
  }
  blanks_ += text.size() - visible;
  return *this;
}

std::string StyledLine::finish() {
  change_to({});
  blanks_ = 0;
  line_ += '\n';
  return std::exchange(line_, {});
}

std::string styled(std::string_view text, const Style& style, ColorDepth depth) {
  StyledLine line(depth);
  std::string done = line.add(text, style).finish();
  done.pop_back();
  return done;
}

}  // namespace attend::draw
