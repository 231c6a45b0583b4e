#include "draw/page/drawing.h"

#include <algorithm>
#include <utility>

#include "draw/page/fit_text.h"

namespace attend::draw {
namespace {

constexpr double kLineHeight = 1.35;  // in font sizes

struct Mover {
  double x, y;
  void operator()(Point& point) const {
    point.x += x;
    point.y += y;
  }
  void operator()(Rect& rect) const { (*this)(rect.at); }
  void operator()(CellImage& image) const { (*this)(image.at); }
  void operator()(Text& text) const { (*this)(text.at); }
  void operator()(Line& line) const {
    (*this)(line.from);
    (*this)(line.to);
  }
  void operator()(Path& path) const {
    for (PathStep& step : path.steps) {
      for (Point* point : {&step.to, &step.control_1, &step.control_2}) (*this)(*point);
    }
  }
};

}  // namespace

void move(std::vector<Shape>& shapes, double x, double y) {
  for (Shape& shape : shapes) std::visit(Mover{x, y}, shape);
}

void Drawing::hold(Point point) {
  low_ = {std::min(low_.x, point.x), std::min(low_.y, point.y)};
  high_ = {std::max(high_.x, point.x), std::max(high_.y, point.y)};
}

void Drawing::text(const std::string& text, Point at, const Words& words) {
  if (text.empty()) return;
  Text shape{text, at, words.anchor, words.angle, words.font, {words.color}, width_of(text, words.font)};
  for (const Point corner : corners_of(shape)) hold(corner);
  shapes_.emplace_back(std::move(shape));
}

void Drawing::add(Rect rect) {
  hold(rect.at);
  hold({rect.at.x + rect.width, rect.at.y + rect.height});
  shapes_.emplace_back(rect);
}

void Drawing::add(Line line) {
  hold(line.from);
  hold(line.to);
  shapes_.emplace_back(line);
}

void Drawing::add(Path path) {
  for (const PathStep& step : path.steps) hold(step.to);
  shapes_.emplace_back(std::move(path));
}

void Drawing::add(CellImage image) {
  hold(image.at);
  hold({image.at.x + image.width, image.at.y + image.height});
  shapes_.emplace_back(std::move(image));
}

double Drawing::part_title(const std::string& title) {
  if (title.empty()) return 0;
  constexpr Font font{kPartTitleSize, true};
  text(fitted(drawable(title), sheet_.width, font, sheet_.measure), {0, kAscent * font.size}, {font, kBlack});
  return kPartTitleSize * kLineHeight + 6;
}

double Drawing::note(const std::string& words, Point at) {
  constexpr Font font{kSmallSize};
  double y = at.y;
  for (const std::string& line : broken(drawable(words), sheet_.width - at.x, font, sheet_.measure)) {
    text(line, {at.x, y + kAscent * font.size}, {font, kGrey});
    y += font.size * kLineHeight;
  }
  return y;
}

Scene Drawing::finish() && {
  move(shapes_, -low_.x, -low_.y);
  return {"", high_.x - low_.x, high_.y - low_.y, std::move(shapes_)};
}

}  // namespace attend::draw
