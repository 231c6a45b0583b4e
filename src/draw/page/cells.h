// The cells of a heatmap on a page, and the legend of their colours.
#pragma once

#include <string>

#include "draw/heatmap.h"
#include "draw/page/drawing.h"

namespace attend::draw {

// The largest distance between cells that fits their number into the room, in multiples of half a point:
// drawn at twice the size, cells then fall on whole pixels. At most `largest`, at least half a point.
double pitch_for(double room, std::size_t cells, double largest);

// Its cells at `at`, with a frame around them. Up to `most_separate` cells are separate shapes: sharp in any
// viewer at any size, and a reader can edit the figure. More become one image.
void draw_cells(Drawing& drawing, const Heatmap& map, Point at, double pitch_x, double pitch_y,
                std::size_t most_separate);

// What a legend must explain.
struct LegendKeys {
  bool masked = false, not_a_number = false;
  void look_at(const Heatmap& map);
};

// The scale with ticks, from `at` downwards, and what colours off the scale mean. Returns its lower end.
double draw_legend(Drawing& drawing, ValueRange range, const std::string& value_label, LegendKeys keys,
                   Point at, double height);

// The room a legend takes to the right of what it explains.
inline constexpr double kLegendRoom = 46;
inline constexpr double kLegendGap = 14;

}  // namespace attend::draw
