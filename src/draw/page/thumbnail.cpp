#include "draw/page/thumbnail.h"

#include <algorithm>

namespace attend::draw {
namespace {

constexpr std::size_t kMostSeparateCells = 64;  // cells drawn as separate shapes, in one of many maps

}  // namespace

Thumbnail thumbnail(const Heatmap& map, double square, double largest_cell) {
  const std::size_t most = std::max<std::size_t>(1, static_cast<std::size_t>(square));
  Thumbnail small;
  small.map = map.rows <= most && map.columns <= most
                  ? map
                  : max_pooled(map, std::min(map.rows, most), std::min(map.columns, most));
  small.pitch = pitch_for(square, std::max(small.map.rows, small.map.columns), largest_cell);
  return small;
}

void draw_thumbnail(Drawing& drawing, const Thumbnail& small, Point at) {
  draw_cells(drawing, small.map, at, small.pitch, small.pitch, kMostSeparateCells);
}

LegendKeys keys_of(const std::vector<Heatmap>& maps) {
  LegendKeys keys;
  for (const Heatmap& map : maps) keys.look_at(map);
  return keys;
}

}  // namespace attend::draw
