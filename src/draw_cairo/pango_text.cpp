#include "draw_cairo/pango_text.h"

#include <cmath>
#include <numbers>

namespace attend::draw {
namespace {

// The fonts that Debian installs along with Pango come first, so that figures look the same on most machines.
// Scripts that these lack are taken from whichever font has them.
constexpr const char* kFamilies = "DejaVu Sans, Liberation Sans, sans-serif";

// Emoji are bitmaps, which Cairo would embed at the size of the letters and no finer: a text that contains
// emoji is drawn as one image, at six pixels per point. All of them begin with these two bytes.
bool has_emoji(std::string_view text) { return text.find("\xF0\x9F") != text.npos; }

}  // namespace

PangoText::PangoText()
    // Our own font map: the default one belongs to the thread, and another library may have changed it.
    : map_(pango_cairo_font_map_new()),
      context_(pango_font_map_create_context(map_.get())),
      layout_(nullptr) {
  // Letters keep their shapes and widths at every size: what was measured is what is drawn, on any surface.
  cairo_font_options_t* options = cairo_font_options_create();
  cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
  cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
  cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
  pango_cairo_context_set_font_options(context_.get(), options);
  cairo_font_options_destroy(options);
  pango_context_set_round_glyph_positions(context_.get(), FALSE);
  pango_cairo_context_set_resolution(context_.get(), 72);
  pango_context_set_language(context_.get(), pango_language_from_string("en"));
  layout_.reset(pango_layout_new(context_.get()));
  pango_layout_set_single_paragraph_mode(layout_.get(), TRUE);
}

PangoLayout* PangoText::laid_out(std::string_view text, Font font) const {
  PangoFontDescription* description = pango_font_description_from_string(kFamilies);
  pango_font_description_set_absolute_size(description, font.size * PANGO_SCALE);
  pango_font_description_set_weight(description, font.bold ? PANGO_WEIGHT_BOLD : PANGO_WEIGHT_NORMAL);
  pango_layout_set_font_description(layout_.get(), description);
  pango_font_description_free(description);
  pango_layout_set_text(layout_.get(), text.data(), static_cast<int>(text.size()));
  return layout_.get();
}

double PangoText::width(std::string_view text, Font font) const {
  PangoRectangle box;
  pango_layout_get_extents(laid_out(text, font), nullptr, &box);
  return static_cast<double>(box.width) / PANGO_SCALE;
}

void PangoText::draw(cairo_t* cairo, const Text& text, bool vector) {
  const double start = text.anchor == Anchor::start    ? 0
                       : text.anchor == Anchor::middle ? -text.width / 2
                                                       : -text.width;
  cairo_save(cairo);
  cairo_translate(cairo, text.at.x, text.at.y);
  cairo_rotate(cairo, text.angle * std::numbers::pi / 180);
  cairo_translate(cairo, start, 0);
  if (vector && has_emoji(text.text)) {
    show_as_picture(cairo, text);
  } else {
    show(cairo, text);
  }
  cairo_restore(cairo);
}

void PangoText::show(cairo_t* cairo, const Text& text) {
  PangoLayout* layout = laid_out(text.text, text.font);
  missing_.look_at(layout);
  cairo_move_to(cairo, 0, 0);
  cairo_set_source_rgba(cairo, text.ink.color.r / 255.0, text.ink.color.g / 255.0, text.ink.color.b / 255.0,
                        text.ink.opacity);
  pango_cairo_show_layout_line(cairo, pango_layout_get_line_readonly(layout, 0));
}

void PangoText::show_as_picture(cairo_t* cairo, const Text& text) {
  constexpr double kZoom = 6;
  const double above = 1.3 * text.font.size, below = 0.5 * text.font.size, beside = text.font.size;
  const double width = std::ceil((text.width + 2 * beside) * kZoom),
               height = std::ceil((above + below) * kZoom);
  cairo_surface_t* surface =
      cairo_image_surface_create(CAIRO_FORMAT_ARGB32, static_cast<int>(width), static_cast<int>(height));
  cairo_t* picture = cairo_create(surface);
  cairo_scale(picture, kZoom, kZoom);
  cairo_translate(picture, beside, above);
  show(picture, text);
  cairo_destroy(picture);
  cairo_translate(cairo, -beside, -above);
  cairo_scale(cairo, 1 / kZoom, 1 / kZoom);
  cairo_set_source_surface(cairo, surface, 0, 0);
  cairo_paint(cairo);
  cairo_surface_destroy(surface);
}

}  // namespace attend::draw
