// A page as SVG, written without any library: text stays text, and the viewer's fonts draw it.
#pragma once

#include <string>

#include "draw/page/layout.h"

namespace attend::draw {

// One <svg> element, fit for a file of its own and for the middle of an HTML page: no declaration, no ids, no
// scripts, nothing from elsewhere. The same bytes for the same scene.
std::string paint_svg(const Scene& scene);

// A figure laid out for the usual fonts of browsers.
std::string figure_svg(const Figure& figure, const PageOptions& options = {});

}  // namespace attend::draw
