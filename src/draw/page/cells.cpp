#include "draw/page/cells.h"

#include <algorithm>
#include <cmath>

#include "draw/number.h"
#include "draw/page/fit_text.h"
#include "draw/plot.h"

namespace attend::draw {
namespace {

constexpr double kOverlap = 0.3;  // hides the seam that a viewer's antialiasing leaves between two cells
constexpr double kBarWidth = 9;
constexpr double kSwatch = 8;
constexpr std::size_t kBarSteps = 128;

std::uint8_t cell_of(const Heatmap& map, std::size_t i, std::size_t j) {
  return map.is_masked(i, j) ? kMaskedCell : cell_at(place_in(map.range, map.at(i, j)));
}

void draw_separate_cells(Drawing& drawing, const Heatmap& map, Point at, double pitch_x, double pitch_y) {
  for (std::size_t i = 0; i < map.rows; ++i) {
    for (std::size_t j = 0; j < map.columns; ++j) {
      const double right = j + 1 < map.columns ? kOverlap : 0, below = i + 1 < map.rows ? kOverlap : 0;
      drawing.add(Rect{{at.x + static_cast<double>(j) * pitch_x, at.y + static_cast<double>(i) * pitch_y},
                       pitch_x + right,
                       pitch_y + below,
                       Ink{cell_palette()[cell_of(map, i, j)]}});
    }
  }
}

void draw_swatch(Drawing& drawing, const std::string& words, std::uint8_t cell, Point at) {
  drawing.add(Rect{at, kSwatch, kSwatch, Ink{cell_palette()[cell]}, Stroke{{kHairline}, 0.5}});
  drawing.text(words, {at.x + kSwatch + 5, at.y + kSwatch / 2 + kMiddleToBase * kSmallSize},
               {{kSmallSize}, kGrey});
}

}  // namespace

double pitch_for(double room, std::size_t cells, double largest) {
  const double pitch = room / static_cast<double>(std::max<std::size_t>(cells, 1));
  return std::clamp(std::floor(pitch * 2) / 2, 0.5, largest);
}

void draw_cells(Drawing& drawing, const Heatmap& map, Point at, double pitch_x, double pitch_y,
                std::size_t most_separate) {
  const double width = pitch_x * static_cast<double>(map.columns);
  const double height = pitch_y * static_cast<double>(map.rows);
  if (map.rows * map.columns <= most_separate) {
    draw_separate_cells(drawing, map, at, pitch_x, pitch_y);
  } else {
    CellImage image{at, width, height, map.columns, map.rows, {}};
    for (std::size_t i = 0; i < map.rows; ++i) {
      for (std::size_t j = 0; j < map.columns; ++j) image.cells.push_back(cell_of(map, i, j));
    }
    drawing.add(std::move(image));
  }
  drawing.add(Rect{at, width, height, {}, Stroke{{kHairline}, 0.6}});
}

void LegendKeys::look_at(const Heatmap& map) {
  for (std::size_t i = 0; i < map.rows; ++i) {
    for (std::size_t j = 0; j < map.columns; ++j) {
      if (map.is_masked(i, j)) {
        masked = true;
      } else if (std::isnan(map.at(i, j))) {
        not_a_number = true;
      }
    }
  }
}

double draw_legend(Drawing& drawing, ValueRange range, const std::string& value_label, LegendKeys keys,
                   Point at, double height) {
  CellImage bar{at, kBarWidth, height, 1, kBarSteps, {}};
  for (std::size_t i = 0; i < kBarSteps; ++i)
    bar.cells.push_back(cell_at(1 - static_cast<double>(i) / static_cast<double>(kBarSteps - 1)));
  drawing.add(std::move(bar));
  drawing.add(Rect{at, kBarWidth, height, {}, Stroke{{kHairline}, 0.6}});
  const int most = std::clamp(static_cast<int>(height / 24), 2, 6);
  std::vector<double> values = ticks(AxisScale::linear, {range.low, range.high}, most);
  if (values.empty()) values = {range.low};
  for (const double value : values) {
    const double y = at.y + height * (1 - place_in(range, value));
    drawing.add(Line{{at.x + kBarWidth, y}, {at.x + kBarWidth + 3, y}, {{kGrey}, 0.6}});
    drawing.text(format_short(value, 3), {at.x + kBarWidth + 6, y + kMiddleToBase * kSmallSize},
                 {{kSmallSize}, kGrey});
  }
  double y = at.y + height + 8;
  if (!value_label.empty()) {
    constexpr Font font{kSmallSize};
    const std::string name = fitted(drawable(value_label), 2 * kLegendRoom, font, drawing.sheet().measure);
    drawing.text(name, {at.x, y + kAscent * kSmallSize}, {font, kGrey});
    y += kSmallSize * 1.6;
  }
  if (keys.masked) {
    draw_swatch(drawing, "masked", kMaskedCell, {at.x, y + 3});
    y += kSmallSize * 1.6;
  }
  if (keys.not_a_number) {
    draw_swatch(drawing, "not a number", kNanCell, {at.x, y + 3});
    y += kSmallSize * 1.6;
  }
  return y;
}

}  // namespace attend::draw
