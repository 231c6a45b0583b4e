// A map scaled down to fit a square, for model views and film strips.
#pragma once

#include <vector>

#include "draw/heatmap.h"
#include "draw/page/cells.h"

namespace attend::draw {

struct Thumbnail {
  Heatmap map;  // pooled where a cell would be smaller than a point
  double pitch = 1;

  double width() const { return pitch * static_cast<double>(map.columns); }
  double height() const { return pitch * static_cast<double>(map.rows); }
};

// The map must not be blank. No cell is larger than `largest_cell`.
Thumbnail thumbnail(const Heatmap& map, double square, double largest_cell);
void draw_thumbnail(Drawing& drawing, const Thumbnail& small, Point at);

LegendKeys keys_of(const std::vector<Heatmap>& maps);

}  // namespace attend::draw
