// Text with colours and weight, as escape sequences for the terminal at hand, or as nothing at all.
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

// A cell at a place in [0, 1] of the scale, and text that can be read on it, as this terminal will really
// show them. One of 256 steps, finer than the eye: neighbouring cells then often share their escape sequence.
Style cell_style(double place, ColorDepth depth);

// A line put together piece by piece. Escape sequences are written only where the style changes: a row of 400
// cells stays small. Without colour it is the plain text.
class StyledLine {
 public:
  explicit StyledLine(ColorDepth depth) : depth_(depth) {}
  StyledLine& add(std::string_view text, const Style& style = {});
  // The line and its end, without trailing blanks that nobody sees; the line is then empty again.
  std::string finish();

 private:
  void change_to(const Style& style);

  ColorDepth depth_;
  Style now_;
  std::string line_;
  std::size_t blanks_ = 0;  // asked for, and not written before something visible follows
};

// One piece of text on its own.
std::string styled(std::string_view text, const Style& style, ColorDepth depth);

}  // namespace attend::draw
