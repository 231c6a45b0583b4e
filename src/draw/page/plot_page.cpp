// A plot on a page: thin axes, a faint grid, and for each series a colour and a mark, so that it works in
// greyscale.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "draw/number.h"
#include "draw/page/fit_text.h"
#include "draw/page/parts.h"
#include "draw/plot.h"

namespace attend::draw {
namespace {

constexpr double kWidestPlot = 480, kHeight = 230;
constexpr double kPad = 0.03;  // of the axis, left free at either end
constexpr std::size_t kMostMarks = 40;
constexpr double kMark = 2.8;

// Circle, square, triangle, diamond in rotation; hollow from the fifth on.
Path mark_at(Point at, std::size_t series) {
  const Rgb color = series_color(static_cast<int>(series));
  const int corners = series % 4 == 0 ? 16 : series % 4 == 2 ? 3 : 4;
  const double first_angle = series % 4 == 1 ? std::numbers::pi / 4 : -std::numbers::pi / 2;
  const double radius = corners == 16 ? kMark : kMark * 1.25;
  Path path;
  for (int i = 0; i <= corners; ++i) {
    const double angle = first_angle + 2 * std::numbers::pi * i / corners;
    path.steps.push_back({i == 0 ? PathStep::Kind::move : PathStep::Kind::line,
                          {at.x + radius * std::cos(angle), at.y + radius * std::sin(angle)}});
  }
  const bool hollow = series % 8 >= 4;
  path.fill = Ink{hollow ? Rgb{255, 255, 255} : color};
  path.outline = Stroke{{color}, 1};
  return path;
}

Extent padded(Extent extent) {
  const double pad = kPad * (extent.high - extent.low);
  return {extent.low - pad, extent.high + pad};
}

class PlotPage {
 public:
  PlotPage(const Plot& plot, const Sheet& sheet)
      : plot_(plot), drawing_(sheet), x_range_(x_extent(plot)), y_range_(y_extent(plot)) {
    y_ticks_ = ticks(plot.y.scale, y_range_, 6);
    double room = 0;
    for (const double value : y_ticks_)
      room = std::max(room, drawing_.width_of(format_short(value), {kSmallSize}));
    left_ = room + 10;
    width_ = std::clamp(sheet.width - left_ - 12, 80.0, kWidestPlot);
  }

  Scene draw() && {
    top_ = drawing_.part_title(plot_.title);
    draw_names();
    if (!plot_.y.label.empty()) {
      drawing_.text(fit(plot_.y.label), {0, top_ + kAscent * kSmallSize}, {{kSmallSize}, kGrey});
      top_ += kSmallSize * 1.8;
    }
    draw_axes();
    for (std::size_t i = plot_.series.size(); i-- > 0;) draw_series(i);
    double y = top_ + kHeight + 18;
    if (!plot_.x.label.empty()) {
      drawing_.text(fit(plot_.x.label), {left_ + width_ / 2, y + kAscent * kSmallSize},
                    {{kSmallSize}, kGrey, Anchor::middle});
      y += kSmallSize * 1.8;
    }
    if (const int count = points_left_out(plot_); count > 0) {
      drawing_.note(std::to_string(count) + (count == 1 ? " point is" : " points are") +
                        " not shown: not finite, or not above 0 on a logarithmic axis.",
                    {0, y + 4});
    }
    return std::move(drawing_).finish();
  }

 private:
  std::string fit(const std::string& text) const {
    return fitted(drawable(text), left_ + width_, {kSmallSize}, drawing_.sheet().measure);
  }
  double across(double place) const {
    const Extent range = padded(x_range_);
    return left_ + width_ * (place - range.low) / (range.high - range.low);
  }
  double down(double place) const {
    const Extent range = padded(y_range_);
    return top_ + kHeight * (1 - (place - range.low) / (range.high - range.low));
  }

  void draw_names() {
    constexpr Font font{kSmallSize};
    double x = 0;
    bool any = false;
    for (std::size_t i = 0; i < plot_.series.size(); ++i) {
      const std::string name = fitted(drawable(plot_.series[i].name), 220, font, drawing_.sheet().measure);
      if (name.empty()) continue;
      const double width = 24 + drawing_.width_of(name, font) + 16;
      if (x > 0 && x + width > drawing_.sheet().width) {
        x = 0;
        top_ += kSmallSize * 1.7;
      }
      const double middle = top_ + kSmallSize * 0.6;
      drawing_.add(Line{{x, middle}, {x + 18, middle}, {{series_color(static_cast<int>(i))}, 1.6}});
      drawing_.add(mark_at({x + 9, middle}, i));
      drawing_.text(name, {x + 24, middle + kMiddleToBase * kSmallSize}, {font, kBlack});
      x += width;
      any = true;
    }
    if (any) top_ += kSmallSize * 1.7 + 6;
  }

  void draw_axes() {
    const double bottom = top_ + kHeight;
    for (const double value : y_ticks_) {
      const double y = down(along(plot_.y.scale, value));
      drawing_.add(Line{{left_, y}, {left_ + width_, y}, {{kFaint}, 0.7}});
      drawing_.text(format_short(value), {left_ - 6, y + kMiddleToBase * kSmallSize},
                    {{kSmallSize}, kGrey, Anchor::end});
    }
    double free = -1e9;
    for (const double value : x_ticks(plot_, 12)) {
      const double x = across(along(plot_.x.scale, value));
      drawing_.add(Line{{x, bottom}, {x, bottom + 3}, {{kGrey}, 0.7}});
      const std::string number = format_short(value);
      const double half = drawing_.width_of(number, {kSmallSize}) / 2;
      if (x - half < free) continue;
      drawing_.text(number, {x, bottom + 5 + kAscent * kSmallSize}, {{kSmallSize}, kGrey, Anchor::middle});
      free = x + half + 6;
    }
    drawing_.add(Line{{left_, bottom}, {left_ + width_, bottom}, {{kGrey}, 0.8}});
    drawing_.add(Line{{left_, top_}, {left_, bottom}, {{kGrey}, 0.8}});
  }

  void draw_series(std::size_t index) {
    const Series& series = plot_.series[index];
    Path path;
    std::vector<Point> points;
    bool begins = true;
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      const double x = along(plot_.x.scale, series.x[i]), y = along(plot_.y.scale, series.y[i]);
      if (std::isnan(x) || std::isnan(y)) {
        begins = true;  // the line stops at a point that cannot be shown, and starts again after it
        continue;
      }
      points.push_back({across(x), down(y)});
      path.steps.push_back({begins ? PathStep::Kind::move : PathStep::Kind::line, points.back()});
      begins = false;
    }
    path.outline = Stroke{{series_color(static_cast<int>(index))}, 1.6};
    drawing_.add(std::move(path));
    if (points.size() > kMostMarks) return;
    for (const Point point : points) drawing_.add(mark_at(point, index));
  }

  const Plot& plot_;
  Drawing drawing_;
  Extent x_range_, y_range_;
  std::vector<double> y_ticks_;
  double left_ = 0, width_ = 0, top_ = 0;
};

}  // namespace

Scene lay_out(const Plot& plot, const Sheet& sheet) { return PlotPage(plot, sheet).draw(); }

}  // namespace attend::draw
