// Text with colour and emphasis: escape sequences for terminals that support them, plain text otherwise.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "draw/color.h"
#include "draw/terminal.h"

namespace attend::draw {

enum class Emphasis { none, bold, dim };

struct Style {
  std::optional<Rgb> text = {};
  std::optional<Rgb> background = {};
  Emphasis emphasis = Emphasis::none;
  friend bool operator==(const Style&, const Style&) = default;
};

inline constexpr Style kDim{.emphasis = Emphasis::dim};

// The style of a cell at a position in [0, 1] on the scale, with legible text, in the colours that this
// terminal has. One of 256 steps, finer than the eye: neighbouring cells then often share an escape sequence.
Style cell_style(double place, ColorDepth depth);

// A line built piece by piece. Escape sequences are written only where the style changes, so a row of 400
// cells stays small. Without colour it is plain text.
class StyledLine {
 public:
  explicit StyledLine(ColorDepth depth) : depth_(depth) {}
  StyledLine& add(std::string_view text, const Style& style = {});
  // The line with a newline, without invisible trailing blanks; the line is then empty again.
  std::string finish();

 private:
  void change_to(const Style& style);

  ColorDepth depth_;
  Style now_;
  std::string line_;
  std::size_t blanks_ = 0;  // pending: written only when something visible follows
};

// A single piece of text.
std::string styled(std::string_view text, const Style& style, ColorDepth depth);

}  // namespace attend::draw
