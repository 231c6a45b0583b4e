#include "draw/page/layout.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "draw/page/drawing.h"
#include "draw/page/fit_text.h"
#include "draw/page/parts.h"

namespace attend::draw {
namespace {

constexpr double kMargin = 18;
constexpr double kBetweenParts = 26;
constexpr double kNoteSize = 9.5;
constexpr double kProseLineHeight = 1.4;
constexpr double kNarrowestNotes = 300;  // so that a small figure does not break its notes into single words

// Lines one below the other; returns where they end.
double draw_lines(Drawing& drawing, const std::string& words, double y, double width, Font font, Rgb color) {
  for (const std::string& line : broken(drawable(words), width, font, drawing.sheet().measure)) {
    drawing.text(line, {0, y + kAscent * font.size}, {font, color});
    y += font.size * kProseLineHeight;
  }
  return y;
}

void append(Scene& page, Scene part, double y) {
  move(part.shapes, 0, y);
  std::move(part.shapes.begin(), part.shapes.end(), std::back_inserter(page.shapes));
  page.width = std::max(page.width, part.width);
  page.height = y + part.height;
}

}  // namespace

Scene layout(const Figure& figure, const TextMeasure& measure, const PageOptions& options) {
  check(figure);
  if (!(options.width >= 200 && options.width <= 4000)) {
    refuse("figure", "a page ", options.width, " wide, not from 200 to 4000");
  }
  const Sheet sheet{measure, options.width - 2 * kMargin};
  std::vector<Scene> parts;
  double widest = kNarrowestNotes;
  for (const Part& part : figure.parts) {
    parts.push_back(std::visit([&](const auto& of_kind) { return lay_out(of_kind, sheet); }, part));
    widest = std::max(widest, parts.back().width);
  }
  widest = std::min(widest, sheet.width);

  Scene page;
  if (!figure.title.empty()) {
    Drawing title(sheet);
    draw_lines(title, figure.title, 0, widest, {kTitleSize, true}, kBlack);
    append(page, std::move(title).finish(), 0);
  }
  for (Scene& part : parts)
    append(page, std::move(part), page.height > 0 ? page.height + kBetweenParts * 0.6 : 0);
  if (!figure.notes.empty()) {
    Drawing notes(sheet);
    double y = 0;
    for (const std::string& note : figure.notes)
      y = draw_lines(notes, note, y, widest, {kNoteSize}, kGrey) + 2;
    append(page, std::move(notes).finish(), page.height > 0 ? page.height + kBetweenParts * 0.6 : 0);
  }
  move(page.shapes, kMargin, kMargin);
  page.title = drawable(figure.title);
  page.width = std::ceil(page.width + 2 * kMargin);
  page.height = std::ceil(page.height + 2 * kMargin);
  page.shapes.insert(page.shapes.begin(), Rect{{0, 0}, page.width, page.height, Ink{{255, 255, 255}}});
  return page;
}

}  // namespace attend::draw
