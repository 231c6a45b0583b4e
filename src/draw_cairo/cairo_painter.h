// The shapes of a scene, drawn by Cairo.
#pragma once

#include <cairo.h>

#include "draw/page/scene.h"
#include "draw_cairo/pango_text.h"

namespace attend::draw {

// vector: for PDF, whose viewers smooth images that they enlarge, so each cell becomes several
// pixels; on a raster, shapes are aligned with pixel edges instead.
void paint_cairo(cairo_t* cairo, const Scene& scene, PangoText& text, bool vector);

}  // namespace attend::draw
