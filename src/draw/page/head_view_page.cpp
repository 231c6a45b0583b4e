// A head view on a page: curves between two columns of tokens, wider and stronger with the weight.
#include <algorithm>
#include <cmath>

#include "draw/number.h"
#include "draw/page/axis_labels.h"
#include "draw/page/fit_text.h"
#include "draw/page/parts.h"

namespace attend::draw {
namespace {

constexpr double kLargestPitch = 17;
constexpr double kTallestView = 1000;
constexpr double kLongestWord = 130;
constexpr double kTextGap = 7;  // between a label and the lines that end at it
constexpr double kWidestLine = 3.2, kThinnestLine = 0.4;
constexpr double kFaded = 0.10;  // the opacity of the strongest line that is not in focus
constexpr double kHeader = 18;
constexpr Rgb kFadedColor{0x80, 0x80, 0x80};

struct Column {
  std::vector<std::string> names;
  std::vector<std::size_t> named;  // the tokens whose names are shown
  double size = kLabelSize;
  double room = 0;
};

// All names where there is room; otherwise those with the strongest lines, each with its number.
Column column_of(const std::vector<std::string>& labels, const std::vector<double>& scores, double pitch,
                 const Sheet& sheet) {
  Column column;
  const bool thinned = pitch / 1.2 < kLeastSize;
  column.size = thinned ? kLeastSize : std::min(kLabelSize, pitch / 1.2);
  column.named = spaced_choice(scores, pitch, thinned ? kLeastSize * 1.25 : pitch);
  column.names.resize(labels.size());
  for (const std::size_t i : column.named) {
    const std::string name = drawable(labels[i]);
    column.names[i] =
        fitted(thinned ? numbered(i, name) : name, kLongestWord, {column.size, true}, sheet.measure);
    column.room = std::max(column.room, sheet.measure.width(column.names[i], {column.size, true}));
  }
  return column;
}

// The strongest visible line of each token.
std::vector<double> scores_of(const HeadView& view, bool left) {
  std::vector<double> scores(left ? view.left.size() : view.right.size());
  for (const Link& link : drawn_links(view)) {
    const bool in_focus = view.focus && link.from == *view.focus;
    const double seen = !view.focus || in_focus ? link.weight : link.weight * kFaded;
    double& score = scores[left ? link.from : link.to];
    score = std::max(score, seen);
  }
  if (left && view.focus) scores[*view.focus] = std::numeric_limits<double>::max();
  return scores;
}

class HeadViewPage {
 public:
  HeadViewPage(const HeadView& view, const Sheet& sheet) : view_(view), drawing_(sheet) {
    const std::size_t most = std::max({view.left.size(), view.right.size(), std::size_t{1}});
    pitch_ = std::min(kLargestPitch, kTallestView / static_cast<double>(most));
    left_ = column_of(view.left, scores_of(view, true), pitch_, sheet);
    right_ = column_of(view.right, scores_of(view, false), pitch_, sheet);
    full_ = full_weight(view);
    const double numbers = view.focus ? 34 : 0;
    left_.room = std::max(left_.room, sheet.measure.width(header_of(view.left_title), kHeaderFont));
    right_.room = std::max(right_.room, sheet.measure.width(header_of(view.right_title), kHeaderFont));
    lines_from_ = left_.room + kTextGap;
    lines_to_ = lines_from_ +
                std::clamp(sheet.width - left_.room - right_.room - 2 * kTextGap - numbers, 120.0, 300.0);
  }

  Scene draw() && {
    top_ = drawing_.part_title(view_.title);
    draw_series();
    draw_headers();
    for (const Link& link : drawn_links(view_)) {
      if (!in_focus(link)) draw_link(link);
    }
    for (const Link& link : drawn_links(view_)) {
      if (in_focus(link)) draw_link(link);
    }
    draw_names();
    if (view_.strongest > 0) {
      const std::string count =
          view_.strongest == 1 ? "strongest line" : std::to_string(view_.strongest) + " strongest lines";
      const double end = top_ + pitch_ * static_cast<double>(std::max(view_.left.size(), view_.right.size()));
      drawing_.note("The " + count + " of each token on the left.", {0, end + 6});
    }
    return std::move(drawing_).finish();
  }

 private:
  static constexpr Font kHeaderFont{kSmallSize};

  std::string header_of(const std::string& title) const {
    return fitted(drawable(title), kLongestWord, kHeaderFont, drawing_.sheet().measure);
  }
  bool in_focus(const Link& link) const { return !view_.focus || link.from == *view_.focus; }
  double middle_of(std::size_t index) const { return top_ + (static_cast<double>(index) + 0.5) * pitch_; }

  // The names of the colours.
  void draw_series() {
    if (view_.series.empty()) return;
    double x = 0;
    for (std::size_t i = 0; i < view_.series.size(); ++i) {
      constexpr Font font{kSmallSize};
      const std::string name =
          fitted(drawable(view_.series[i]), kLongestWord, font, drawing_.sheet().measure);
      const double width = 20 + drawing_.width_of(name, font) + 14;
      if (x > 0 && x + width > drawing_.sheet().width) {
        x = 0;
        top_ += kSmallSize * 1.6;
      }
      drawing_.add(Line{{x, top_ + kSmallSize / 2 + 2},
                        {x + 15, top_ + kSmallSize / 2 + 2},
                        {{series_color(static_cast<int>(i))}, 2.5}});
      drawing_.text(name, {x + 20, top_ + kSmallSize * 1.1}, {font, kBlack});
      x += width;
    }
    top_ += kSmallSize * 1.6 + 6;
  }

  void draw_headers() {
    if (view_.left_title.empty() && view_.right_title.empty()) return;
    const auto header = [&](const std::string& title, double x, Anchor anchor) {
      drawing_.text(header_of(title), {x, top_ + kAscent * kSmallSize}, {kHeaderFont, kGrey, anchor});
    };
    header(view_.left_title, lines_from_ - kTextGap, Anchor::end);
    header(view_.right_title, lines_to_ + kTextGap, Anchor::start);
    top_ += kHeader;
  }

  void draw_link(const Link& link) {
    const double share = std::min(1.0, link.weight / full_);
    const double dense =
        std::min(1.0, pitch_ / 10);  // many tokens: thinner lines, so that they stay distinct
    Stroke stroke;
    stroke.width = std::max(kThinnestLine, kWidestLine * share * std::max(dense, 0.45));
    stroke.ink = in_focus(link) ? Ink{series_color(link.series), 0.05 + 0.9 * std::pow(share, 0.7)}
                                : Ink{kFadedColor, std::max(0.02, kFaded * share)};
    const Point from{lines_from_, middle_of(link.from)}, to{lines_to_, middle_of(link.to)};
    const double bend = (lines_to_ - lines_from_) * 0.45;
    drawing_.add(Path{{{PathStep::Kind::move, from},
                       {PathStep::Kind::curve, to, {from.x + bend, from.y}, {to.x - bend, to.y}}},
                      {},
                      stroke});
  }

  void draw_names() {
    for (const std::size_t i : left_.named) {
      const bool focus = view_.focus == i;
      drawing_.text(left_.names[i], {lines_from_ - kTextGap, middle_of(i) + kMiddleToBase * left_.size},
                    {{left_.size, focus}, view_.focus && !focus ? kGrey : kBlack, Anchor::end});
    }
    std::vector<double> received(view_.right.size());
    if (view_.focus) {
      for (const Link& link : drawn_links(view_)) {
        if (in_focus(link)) received[link.to] += link.weight;
      }
    }
    for (const std::size_t i : right_.named) {
      const bool plain = view_.focus && received[i] == 0;
      const Point at{lines_to_ + kTextGap, middle_of(i) + kMiddleToBase * right_.size};
      drawing_.text(right_.names[i], at, {{right_.size}, plain ? kGrey : kBlack});
      if (received[i] > 0) {
        const double x = lines_to_ + kTextGap + right_.room + 8;
        drawing_.text(format_number(received[i], {2, false}), {x, at.y}, {{right_.size}, kGrey});
      }
    }
  }

  const HeadView& view_;
  Drawing drawing_;
  Column left_, right_;
  double pitch_ = 0, full_ = 1, top_ = 0;
  double lines_from_ = 0, lines_to_ = 0;
};

}  // namespace

Scene lay_out(const HeadView& view, const Sheet& sheet) { return HeadViewPage(view, sheet).draw(); }

}  // namespace attend::draw
