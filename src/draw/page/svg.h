// A page as SVG, written without a library: text stays text, and is drawn in the viewer's fonts.
#pragma once

#include <string>

#include "draw/page/layout.h"

namespace attend::draw {

// One <svg> element, suitable as a file and inside an HTML page: no declaration, no ids, no scripts, no
// external resources. The same bytes for the same scene.
std::string paint_svg(const Scene& scene);

// A figure laid out for the fonts that browsers usually have.
std::string figure_svg(const Figure& figure, const PageOptions& options = {});

}  // namespace attend::draw
