// One function for each kind of part that lays it out on a page. Sizes have been checked. Part of layout.
#pragma once

#include "draw/figure.h"
#include "draw/page/drawing.h"

namespace attend::draw {

Scene lay_out(const Heatmap& map, const Sheet& sheet);
Scene lay_out(const HeadView& view, const Sheet& sheet);
Scene lay_out(const ModelView& view, const Sheet& sheet);
Scene lay_out(const Bars& bars, const Sheet& sheet);
Scene lay_out(const Plot& plot, const Sheet& sheet);
Scene lay_out(const FilmStrip& strip, const Sheet& sheet);
Scene lay_out(const Table& table, const Sheet& sheet);

}  // namespace attend::draw
