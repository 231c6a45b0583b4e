// The cells of a heatmap on a page, and the legend of their colours.
#pragma once

#include <string>

#include "draw/heatmap.h"
#include "draw/page/drawing.h"

namespace attend::draw {

// The largest distance between cells, from their number and the room there is for them, whose halves are
// whole: drawn at twice the size, cells then lie on whole pixels. Not above `largest`, nor below half a
// point.
double pitch_for(double room, std::size_t cells, double largest);

// Its cells at `at`, with a frame around them. Up to `most_separate` are shapes of their own: sharp in any
// viewer, at any size, and a reader can take the figure apart. More are one image.
void draw_cells(Drawing& drawing, const Heatmap& map, Point at, double pitch_x, double pitch_y,
                std::size_t most_separate);

// What a legend must explain.
struct LegendKeys {
  bool masked = false, not_a_number = false;
  void look_at(const Heatmap& map);
};

// The scale with ticks, from `at` downwards, and what colours off the scale mean. Returns where it
// ends.
double draw_legend(Drawing& drawing, ValueRange range, const std::string& value_label, LegendKeys keys,
                   Point at, double height);

// The room a legend takes to the right of what it explains.
inline constexpr double kLegendRoom = 46;
inline constexpr double kLegendGap = 14;

}  // namespace attend::draw
