// The twin of render_page.cpp in a build without Cairo.
#include "base/error.h"
#include "draw/page/svg.h"
#include "draw_cairo/render_page.h"

namespace attend::draw {

bool has_cairo() noexcept { return false; }

RenderedPage render_page(const Figure& figure, PageFormat format, const FileOptions& options) {
  if (format != PageFormat::svg) {
    refuse("figure", "this attend was built without Cairo and Pango: it writes SVG, but not PNG or PDF");
  }
  return {figure_svg(figure, options.page), {}};
}

}  // namespace attend::draw
