// Text laid out by Pango: measured for the layout of a page, and then drawn.
#pragma once

#include <pango/pangocairo.h>

#include <memory>
#include <string>
#include <string_view>

#include "draw/page/text_measure.h"
#include "draw_cairo/missing_characters.h"

namespace attend::draw {

// Releases a reference-counted GLib object.
struct Unref {
  template <class Object>
  void operator()(Object* object) const {
    g_object_unref(object);
  }
};

class PangoText : public TextMeasure {
 public:
  PangoText();

  double width(std::string_view text, Font font) const override;

  // Draws the text as it was measured, and remembers characters that no font has. vector: for PDF.
  void draw(cairo_t* cairo, const Text& text, bool vector);

  const MissingCharacters& missing() const { return missing_; }

 private:
  PangoLayout* laid_out(std::string_view text, Font font) const;
  // Relative to the left end of its baseline, which is at (0, 0).
  void show(cairo_t* cairo, const Text& text);
  void show_as_picture(cairo_t* cairo, const Text& text);

  std::unique_ptr<PangoFontMap, Unref> map_;
  std::unique_ptr<PangoContext, Unref> context_;
  std::unique_ptr<PangoLayout, Unref> layout_;
  MissingCharacters missing_;
};

}  // namespace attend::draw
