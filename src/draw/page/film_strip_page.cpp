// A film strip on a page: frame after frame, in as many lines as needed.
#include <algorithm>
#include <cmath>
#include <utility>

#include "draw/page/axis_labels.h"
#include "draw/page/fit_text.h"
#include "draw/page/parts.h"
#include "draw/page/thumbnail.h"

namespace attend::draw {
namespace {

constexpr double kLargestFrame = 190, kLeastFrame = 150;  // with its labels
constexpr double kLargestNamedFrame = 380;  // of a map that is only large enough for its labels so
constexpr double kLeastNamedCell = kLeastSize * 1.2;
constexpr double kLargestFrameCell = 26;
constexpr double kBetweenFrames = 16;
constexpr double kMostForLabels = 64;
constexpr double kFrameCaptionRoom = kSmallSize * 1.7;
constexpr Font kCaption{kSmallSize, true};

class FilmStripPage {
 public:
  FilmStripPage(const FilmStrip& strip, const Sheet& sheet)
      : strip_(strip), drawing_(sheet), frames_(frames_on_one_scale(strip)) {}

  Scene draw() && {
    y_ = drawing_.part_title(strip_.title);
    if (frames_.empty()) {
      drawing_.note("no frames", {0, y_});
      return std::move(drawing_).finish();
    }
    measure();
    double tallest = 0;
    for (std::size_t i = 0; i < frames_.size(); ++i) {
      const std::size_t column = i % frames_per_line_;
      if (column == 0 && i > 0) y_ += std::exchange(tallest, 0) + kBetweenFrames;
      tallest = std::max(
          tallest, draw_frame(frames_[i], static_cast<double>(column) * (size_ + labels_ + kBetweenFrames)));
    }
    const double top = std::isnan(first_cells_) ? y_ : first_cells_;
    draw_legend(drawing_, strip_.range, strip_.value_label, keys_of(frames_), {right_ + kLegendGap, top},
                std::clamp(y_ + tallest - top, 72.0, 160.0));
    return std::move(drawing_).finish();
  }

 private:
  const Sheet& sheet() const { return drawing_.sheet(); }

  // As many frames side by side as stay large enough, with all lines about equally full. Frames of some
  // twenty or thirty tokens grow, so that their cells have room for labels.
  void measure() {
    const double room = sheet().width - kLegendGap - kLegendRoom;
    std::size_t most = 1;
    for (const Heatmap& frame : frames_) most = std::max({most, frame.rows, frame.columns});
    const double with_labels = kMostForLabels + static_cast<double>(most) * kLeastNamedCell;
    const double largest = std::max(kLargestFrame, with_labels > kLargestNamedFrame ? 0 : with_labels);
    const double least = largest > kLargestFrame ? largest : kLeastFrame;
    frames_per_line_ = static_cast<std::size_t>(
        std::max(1.0, std::floor((room + kBetweenFrames) / (least + kBetweenFrames))));
    const std::size_t lines = (frames_.size() + frames_per_line_ - 1) / frames_per_line_;
    frames_per_line_ = (frames_.size() + lines - 1) / lines;
    const double share = std::min(room / static_cast<double>(frames_per_line_) - kBetweenFrames, largest);
    // Labels take part of the room of a frame, if its cells remain large enough.
    named_ = (share - kMostForLabels) / static_cast<double>(most) >= kLeastNamedCell;
    size_ = std::floor(share - (named_ ? kMostForLabels : 0));
    if (!named_) return;
    for (const Heatmap& frame : frames_) {
      for (const std::string& name : axis_names(frame.row_labels, frame.rows).names)
        labels_ = std::max(labels_, drawing_.width_of(name, {kLabelSize, true}) + 8);
    }
    labels_ = std::min(labels_, kMostForLabels);
  }

  // Returns how tall it is.
  double draw_frame(const Heatmap& frame, double x) {
    drawing_.text(fitted(drawable(frame.title), size_, kCaption, sheet().measure),
                  {x + labels_, y_ + kAscent * kSmallSize}, {kCaption, kBlack});
    if (is_blank(frame)) return kFrameCaptionRoom;
    const Thumbnail small = thumbnail(frame, size_, kLargestFrameCell);
    Point at{x + labels_, y_ + kFrameCaptionRoom};
    if (named_) at.y += draw_labels(small, at);
    draw_thumbnail(drawing_, small, at);
    if (std::isnan(first_cells_)) first_cells_ = at.y;
    right_ = std::max(right_, at.x + small.width());
    return at.y + small.height() - y_;
  }

  // The labels of a frame, from `at` downwards; returns the height of the column labels.
  double draw_labels(const Thumbnail& small, Point at) {
    const auto rows = labels_of_rows(axis_names(small.map.row_labels, small.map.rows, small.map.focus_row),
                                     small.pitch, labels_ - 8, sheet());
    const auto columns = labels_of_columns(axis_names(small.map.column_labels, small.map.columns),
                                           small.pitch, kMostForLabels, sheet(), Slanted::never);
    Drawing trial(sheet());
    const double reach = draw_column_labels(trial, columns, at, small.pitch);
    draw_column_labels(drawing_, columns, {at.x, at.y + reach}, small.pitch);
    draw_row_labels(drawing_, rows, {at.x, at.y + reach}, small.pitch);
    return reach;
  }

  const FilmStrip& strip_;
  Drawing drawing_;
  std::vector<Heatmap> frames_;
  std::size_t frames_per_line_ = 1;
  bool named_ = false;
  double size_ = 0, labels_ = 0;  // the room for cells, and for the labels beside them
  double y_ = 0, right_ = 0;
  double first_cells_ =
      std::nan("");  // where the cells of the first frame begin: the legend goes beside them
};

}  // namespace

Scene lay_out(const FilmStrip& strip, const Sheet& sheet) { return FilmStripPage(strip, sheet).draw(); }

}  // namespace attend::draw
