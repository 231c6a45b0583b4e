// How wide text is on a page, which depends on who draws it.
#pragma once

#include <string_view>

#include "draw/page/scene.h"

namespace attend::draw {

class TextMeasure {
 public:
  virtual ~TextMeasure() = default;
  // Of one line of printable text.
  virtual double width(std::string_view text, Font font) const = 0;
};

// For pages whose text is drawn by somebody else later, such as a browser: what the widest of the usual fonts
// would take, so that labels keep apart whichever is found.
class UsualFonts : public TextMeasure {
 public:
  double width(std::string_view text, Font font) const override;
};

}  // namespace attend::draw
