// A figure as data: a title, parts one below the other, and notes. Everything that renders it (to the
// terminal, to SVG, PNG or PDF, as JSON) starts from this.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "draw/bars.h"
#include "draw/film_strip.h"
#include "draw/head_view.h"
#include "draw/heatmap.h"
#include "draw/model_view.h"
#include "draw/plot.h"
#include "draw/table.h"

namespace attend::draw {

using Part = std::variant<Heatmap, HeadView, ModelView, Bars, Plot, FilmStrip, Table>;

struct Figure {
  std::string title;  // may be empty
  std::vector<Part> parts;
  std::vector<std::string> notes;  // sentences below the parts: what is shown, and what it does not mean
};

// Throws std::invalid_argument when the sizes of a part do not agree.
void check(const Figure& figure);

}  // namespace attend::draw
