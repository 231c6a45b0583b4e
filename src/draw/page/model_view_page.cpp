// A model view on a page: a line of small maps for each layer, heads from left to right.
#include <algorithm>
#include <cmath>
#include <utility>

#include "draw/page/fit_text.h"
#include "draw/page/parts.h"
#include "draw/page/thumbnail.h"

namespace attend::draw {
namespace {

constexpr double kLargestSquare = 96, kLeastSquare = 18;
constexpr double kBetween = 7;
constexpr double kBetweenGroups = 9;  // more, between heads that do not share keys
constexpr double kLongestLayerName = 110;
constexpr double kLeastCaption = 6.2;  // there is little room below a small map
constexpr double kCaptionRoom = kLeastSize * 1.5;
constexpr double kLeastColumn = 24;  // room for the name of a head above a small map
constexpr Font kFont{kSmallSize};

class ModelViewPage {
 public:
  ModelViewPage(const ModelView& view, const Sheet& sheet)
      : view_(view), drawing_(sheet), one_scale_(share_a_scale(view.maps)) {}

  Scene draw() && {
    y_ = drawing_.part_title(view_.title);
    if (view_.maps.empty()) {
      drawing_.note("no heads", {0, y_});
      return std::move(drawing_).finish();
    }
    measure();
    draw_names_of_heads();
    const double top = y_;
    for (std::size_t layer = 0; layer < view_.layers; ++layer) draw_layer(layer);
    if (!one_scale_) {
      drawing_.note("Each map has its own scale.", {left_, y_});
    } else if (const auto first = std::find_if_not(view_.maps.begin(), view_.maps.end(), is_blank);
               first != view_.maps.end()) {
      draw_legend(drawing_, first->range, first->value_label, keys_of(view_.maps),
                  {right() + kLegendGap, top}, std::clamp(y_ - kBetween - top, 72.0, 160.0));
    }
    return std::move(drawing_).finish();
  }

 private:
  const Sheet& sheet() const { return drawing_.sheet(); }
  bool grouped() const { return view_.group > 1; }
  std::size_t groups() const { return grouped() ? view_.heads / view_.group : 1; }
  double left_of(std::size_t head) const {
    const double gaps = grouped() ? kBetweenGroups * static_cast<double>(head / view_.group) : 0;
    return left_ + column_ * static_cast<double>(head) + gaps;
  }
  double right_of(std::size_t head) const { return left_of(head) + column_ - kBetween; }
  double right() const { return right_of(view_.heads - 1); }

  void measure() {
    label_room_ = drawing_.width_of("layer", kFont);
    for (std::size_t layer = 0; layer < view_.layers; ++layer) {
      layer_names_.push_back(
          fitted(drawable(view_.layer_label(layer)), kLongestLayerName, kFont, sheet().measure));
      label_room_ = std::max(label_room_, drawing_.width_of(layer_names_.back(), kFont));
    }
    left_ = label_room_ + 8;
    const double room = sheet().width - left_ - (one_scale_ ? kLegendGap + kLegendRoom : 0) -
                        kBetweenGroups * static_cast<double>(groups() - 1);
    square_ = std::clamp(std::floor(room / static_cast<double>(view_.heads) - kBetween), kLeastSquare,
                         kLargestSquare);
    for (const Heatmap& map : view_.maps) {
      if (is_blank(map)) continue;
      const Thumbnail small = thumbnail(map, square_, square_);
      size_ = std::max({size_, small.width(), small.height()});
    }
    if (size_ == 0) size_ = square_;
    column_ = std::max(size_, std::min(square_, kLeastColumn)) + kBetween;
    double widest = 0;
    for (const Heatmap& map : view_.maps)
      widest = std::max(widest, drawing_.width_of(drawable(map.title), {kLeastSize}));
    const double caption_room = column_ - 3;
    caption_.size =
        widest > caption_room ? std::max(kLeastCaption, kLeastSize * caption_room / widest) : kLeastSize;
  }

  void draw_names_of_heads() {
    drawing_.text("head", {(left_ + right()) / 2, y_ + kAscent * kSmallSize}, {kFont, kGrey, Anchor::middle});
    y_ += kSmallSize * 1.5;
    draw_groups();
    drawing_.text("layer", {label_room_, y_ + kAscent * kSmallSize}, {kFont, kGrey, Anchor::end});
    for (std::size_t head = 0; head < view_.heads; ++head) {
      drawing_.text(fitted(drawable(view_.head_label(head)), column_ - 4, kFont, sheet().measure),
                    {left_of(head) + size_ / 2, y_ + kAscent * kSmallSize}, {kFont, kBlack, Anchor::middle});
    }
    y_ += kSmallSize * 1.6 + 2;
  }

  // A bracket over the heads that share keys and values.
  void draw_groups() {
    if (!grouped()) return;
    for (std::size_t group = 0; group < groups(); ++group) {
      const std::size_t head = group * view_.group;
      const double from = left_of(head), to = right_of(head + view_.group - 1);
      drawing_.text(fitted("keys " + std::to_string(group + 1), to - from, kFont, sheet().measure),
                    {(from + to) / 2, y_ + kAscent * kSmallSize}, {kFont, kGrey, Anchor::middle});
      const double line = y_ + kSmallSize * 1.5;
      const Stroke thin{{kGrey}, 0.8};
      drawing_.add(Line{{from, line}, {to, line}, thin});
      drawing_.add(Line{{from, line}, {from, line + 3}, thin});
      drawing_.add(Line{{to, line}, {to, line + 3}, thin});
    }
    y_ += kSmallSize * 1.5 + 6;
  }

  void draw_layer(std::size_t layer) {
    drawing_.text(layer_names_[layer], {label_room_, y_ + size_ / 2 + kMiddleToBase * kSmallSize},
                  {kFont, kBlack, Anchor::end});
    bool captions = false;
    for (std::size_t head = 0; head < view_.heads; ++head) {
      const Heatmap& map = view_.at(layer, head);
      if (!is_blank(map)) draw_thumbnail(drawing_, thumbnail(map, square_, square_), {left_of(head), y_});
      drawing_.text(fitted(drawable(map.title), column_ - 3, caption_, sheet().measure),
                    {left_of(head) + size_ / 2, y_ + size_ + kAscent * kLeastSize + 1},
                    {caption_, kGrey, Anchor::middle});
      captions = captions || !map.title.empty();
    }
    y_ += size_ + kBetween + (captions ? kCaptionRoom : 0);
  }

  const ModelView& view_;
  Drawing drawing_;
  bool one_scale_;
  std::vector<std::string> layer_names_;
  double label_room_ = 0, left_ = 0;
  double square_ = 0;  // the room for a map
  double size_ = 0;    // how much of it the largest map takes
  double column_ = 0;  // from one map to the next
  Font caption_{kLeastSize};
  double y_ = 0;
};

}  // namespace

Scene lay_out(const ModelView& view, const Sheet& sheet) { return ModelViewPage(view, sheet).draw(); }

}  // namespace attend::draw
