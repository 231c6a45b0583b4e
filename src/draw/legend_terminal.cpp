#include "draw/legend_terminal.h"

#include <algorithm>

#include "draw/heatmap_cells.h"
#include "draw/number.h"
#include "draw/style.h"
#include "draw/text_width.h"

namespace attend::draw {
namespace {

constexpr int kWidth = 24;
constexpr int kShades = 5;

}  // namespace

std::string render_legend(ValueRange range, int margin, const Terminal& terminal) {
  const bool plain = terminal.color == ColorDepth::none;
  const std::string low = format_short(range.low, 3), high = format_short(range.high, 3);
  const int room = terminal.width - margin - text_width(low) - text_width(high) - 2;
  const int columns_of_shade = room >= 2 * kShades ? 2 : 1;
  const int width = std::min(kWidth, room);
  if (width < kShades) return {};
  StyledLine line(terminal.color);
  line.add(repeat(" ", margin)).add(low, {.emphasis = Emphasis::dim}).add(" ");
  const int steps = plain ? kShades : width;
  for (int i = 0; i < steps; ++i) {
    const double place = (i + 0.5) / steps;
    if (plain) {
      line.add(repeat(shade(place), columns_of_shade));
    } else {
      line.add(" ", {.text = {}, .background = cell_style(place, terminal.color).background});
    }
  }
  return line.add(" ").add(high, {.emphasis = Emphasis::dim}).finish();
}

}  // namespace attend::draw
