// How wide text is on a page, which depends on who draws it.
#pragma once

#include <string_view>

#include "draw/page/scene.h"

namespace attend::draw {

class TextMeasure {
 public:
  virtual ~TextMeasure() = default;
  // The width of one line of printable text.
  virtual double width(std::string_view text, Font font) const = 0;
};

// For pages whose text is drawn later by another program, such as a browser: the width in the widest of the
// usual fonts, so that labels do not touch whichever font is used.
class UsualFonts : public TextMeasure {
 public:
  double width(std::string_view text, Font font) const override;
};

}  // namespace attend::draw
