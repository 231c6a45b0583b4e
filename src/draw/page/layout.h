// From a figure to a page: where everything stands.
#pragma once

#include "draw/figure.h"
#include "draw/page/scene.h"
#include "draw/page/text_measure.h"

namespace attend::draw {

struct PageOptions {
  double width = 800;  // of the widest page; a small figure takes a small one. From 200 to 4000
};

// Title, parts one below the other, notes, on a page that is as large as they are. Throws one sentence when
// the sizes of a part do not agree. A model view of very many heads may take a wider page.
Scene layout(const Figure& figure, const TextMeasure& measure, const PageOptions& options = {});

}  // namespace attend::draw
