// A figure as the bytes of a file, drawn by Cairo with text by Pango: any script, and letters are stored as
// shapes, so that the file looks the same everywhere.
#pragma once

#include <string>
#include <vector>

#include "draw/figure.h"
#include "draw/page/layout.h"
#include "draw_cairo/page_format.h"

namespace attend::draw {

struct FileOptions {
  PageOptions page = {};
  double scale = 2;  // of PNG: pixels per point, from 0.1 to 16
};

struct RenderedPage {
  std::string bytes;               // the same for the same figure and fonts
  std::vector<std::string> notes;  // sentences about what could not be drawn: characters that no font has
};

// Whether this program was built with Cairo. Without it SVG is written by paint_svg(), and PNG and PDF are
// refused.
bool has_cairo() noexcept;

// Throws std::invalid_argument: sizes of parts that do not agree, options out of range, a PNG that is too
// large.
RenderedPage render_page(const Figure& figure, PageFormat format, const FileOptions& options = {});

}  // namespace attend::draw
