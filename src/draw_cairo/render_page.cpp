#include "draw_cairo/render_page.h"

#include "base/error.h"
#include "draw/page/svg.h"
#include "draw_cairo/cairo_painter.h"
#include "draw_cairo/cairo_target.h"

namespace attend::draw {

bool has_cairo() noexcept { return true; }

RenderedPage render_page(const Figure& figure, PageFormat format, const FileOptions& options) {
  if (!(options.scale >= 0.1 && options.scale <= 16)) {
    refuse("figure", "a scale of ", options.scale, ", not from 0.1 to 16");
  }
  // An SVG holds its letters as text: it can be searched and read aloud, and is a twentieth of the size.
  if (format == PageFormat::svg) return {figure_svg(figure, options.page), {}};
  PangoText text;
  const Scene scene = layout(figure, text, options.page);
  CairoTarget target(scene, format, options.scale);
  paint_cairo(target.cairo(), scene, text, format != PageFormat::png);
  return {target.finish(), text.missing().notes()};
}

}  // namespace attend::draw
