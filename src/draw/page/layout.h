// Lays out a figure on a page.
#pragma once

#include "draw/figure.h"
#include "draw/page/scene.h"
#include "draw/page/text_measure.h"

namespace attend::draw {

struct PageOptions {
  double width = 800;  // of the page at most; a small figure gets a small page. From 200 to 4000
};

// Title, parts one below the other, notes, on a page that is as large as they are. Throws
// std::invalid_argument when the sizes of a part do not agree. A model view with very many heads may take a
// wider page.
Scene layout(const Figure& figure, const TextMeasure& measure, const PageOptions& options = {});

}  // namespace attend::draw
