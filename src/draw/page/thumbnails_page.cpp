// Small maps on a page: a model view, all heads of all layers, and a film strip, frame after frame.
#include <algorithm>
#include <cmath>
#include <span>

#include "draw/page/axis_labels.h"
#include "draw/page/cells.h"
#include "draw/page/fit_text.h"
#include "draw/page/parts.h"

namespace attend::draw {
namespace {

constexpr double kLargestThumbnail = 96, kLeastThumbnail = 18;
constexpr double kLargestFrame = 190, kLeastFrame = 150;
constexpr double kBetween = 7, kBetweenFrames = 16;
constexpr std::size_t kMostSeparate = 64;  // cells of one of many maps
constexpr double kCaptionRoom = kLeastSize * 1.5;
constexpr double kLeastCaption = 6.2;  // below thumbnails there is little room, and little to say

bool is_blank(const Heatmap& map) { return map.rows == 0 || map.columns == 0; }

// As much of a map as can be seen in a square of this size, and where its cells are drawn.
struct Thumbnail {
  Heatmap map;
  double pitch = 1;
};

Thumbnail thumbnail(const Heatmap& map, double size, double largest_cell) {
  const std::size_t most = std::max<std::size_t>(1, static_cast<std::size_t>(size));
  Thumbnail small;
  small.map = map.rows <= most && map.columns <= most
                  ? map
                  : max_pooled(map, std::min(map.rows, most), std::min(map.columns, most));
  small.pitch = pitch_for(size, std::max(small.map.rows, small.map.columns), largest_cell);
  return small;
}

double width_of(const Thumbnail& small) { return small.pitch * static_cast<double>(small.map.columns); }
double height_of(const Thumbnail& small) { return small.pitch * static_cast<double>(small.map.rows); }

LegendKeys keys_of(const std::vector<Heatmap>& maps) {
  LegendKeys keys;
  for (const Heatmap& map : maps) keys.look_at(map);
  return keys;
}

bool any_title(std::span<const Heatmap> maps) {
  return std::any_of(maps.begin(), maps.end(), [](const Heatmap& map) { return !map.title.empty(); });
}

// What the labels of rows take, at most `most`.
double room_for_labels(const std::vector<Heatmap>& maps, double most, const Sheet& sheet) {
  double room = 0;
  for (const Heatmap& map : maps) {
    for (const std::string& name : axis_names(map.row_labels, map.rows).names)
      room = std::max(room, sheet.measure.width(name, {kLabelSize, true}) + 8);
  }
  return std::min(room, most);
}

// The size at which the widest title fits, as far as it can be read.
double caption_size(const std::vector<Heatmap>& maps, double room, const Sheet& sheet) {
  double widest = 0;
  for (const Heatmap& map : maps)
    widest = std::max(widest, sheet.measure.width(drawable(map.title), {kLeastSize}));
  return widest > room ? std::max(kLeastCaption, kLeastSize * room / widest) : kLeastSize;
}

}  // namespace

Scene lay_out(const ModelView& view, const Sheet& sheet) {
  Drawing drawing(sheet);
  double y = drawing.part_title(view.title);
  if (view.maps.empty()) {
    drawing.note("no heads", {0, y});
    return std::move(drawing).finish();
  }
  const bool one_scale = share_a_scale(view.maps);
  constexpr Font font{kSmallSize};
  double label_room = sheet.measure.width("layer", font);
  std::vector<std::string> layer_names;
  for (std::size_t layer = 0; layer < view.layers; ++layer) {
    layer_names.push_back(fitted(drawable(view.layer_label(layer)), 110, font, sheet.measure));
    label_room = std::max(label_room, sheet.measure.width(layer_names.back(), font));
  }
  const double left = label_room + 8;
  const double room = sheet.width - left - (one_scale ? kLegendGap + kLegendRoom : 0);
  const double square = std::clamp(std::floor(room / static_cast<double>(view.heads) - kBetween),
                                   kLeastThumbnail, kLargestThumbnail);
  // The squares are as large as what is drawn in them.
  double drawn = 0;
  for (const Heatmap& map : view.maps) {
    if (is_blank(map)) continue;
    const Thumbnail small = thumbnail(map, square, square);
    drawn = std::max({drawn, width_of(small), height_of(small)});
  }
  const double size = drawn > 0 ? drawn : square;
  const double column_step = std::max(size, std::min(square, 24.0)) + kBetween;

  std::vector<std::string> head_names;
  for (std::size_t head = 0; head < view.heads; ++head)
    head_names.push_back(fitted(drawable(view.head_label(head)), column_step - 4, font, sheet.measure));
  drawing.text(
      "head",
      {left + (column_step * static_cast<double>(view.heads) - kBetween) / 2, y + kAscent * kSmallSize},
      {font, kGrey, Anchor::middle});
  y += kSmallSize * 1.5;
  drawing.text("layer", {label_room, y + kAscent * kSmallSize}, {font, kGrey, Anchor::end});
  for (std::size_t head = 0; head < view.heads; ++head) {
    const double middle = left + column_step * static_cast<double>(head) + size / 2;
    drawing.text(head_names[head], {middle, y + kAscent * kSmallSize}, {font, kBlack, Anchor::middle});
  }
  y += kSmallSize * 1.6 + 2;
  const double top = y;
  const double captions_size = caption_size(view.maps, column_step - 3, sheet);
  for (std::size_t layer = 0; layer < view.layers; ++layer) {
    drawing.text(layer_names[layer], {label_room, y + size / 2 + kMiddleToBase * kSmallSize},
                 {font, kBlack, Anchor::end});
    for (std::size_t head = 0; head < view.heads; ++head) {
      const Heatmap& map = view.at(layer, head);
      const double x = left + column_step * static_cast<double>(head);
      if (!is_blank(map)) {
        const Thumbnail small = thumbnail(map, square, square);
        draw_cells(drawing, small.map, {x, y}, small.pitch, small.pitch, kMostSeparate);
      }
      const Font caption{captions_size};
      drawing.text(fitted(drawable(map.title), column_step - 3, caption, sheet.measure),
                   {x + size / 2, y + size + kAscent * kLeastSize + 1}, {caption, kGrey, Anchor::middle});
    }
    const bool captions = any_title(std::span(view.maps).subspan(layer * view.heads, view.heads));
    y += size + kBetween + (captions ? kCaptionRoom : 0);
  }
  const double right = left + column_step * static_cast<double>(view.heads) - kBetween;
  if (one_scale) {
    const double height = std::clamp(y - kBetween - top, 72.0, 160.0);
    const auto first = std::find_if_not(view.maps.begin(), view.maps.end(), is_blank);
    if (first != view.maps.end()) {
      draw_legend(drawing, first->range, first->value_label, keys_of(view.maps), {right + kLegendGap, top},
                  height);
    }
  } else {
    drawing.note("Each map has its own scale.", {left, y});
  }
  return std::move(drawing).finish();
}

Scene lay_out(const FilmStrip& strip, const Sheet& sheet) {
  Drawing drawing(sheet);
  double y = drawing.part_title(strip.title);
  if (strip.frames.empty()) {
    drawing.note("no frames", {0, y});
    return std::move(drawing).finish();
  }
  const std::vector<Heatmap> frames = frames_on_one_scale(strip);
  const double room = sheet.width - kLegendGap - kLegendRoom;
  // As many beside each other as stay large enough, and all lines about as full as each other.
  auto a_line = static_cast<std::size_t>(
      std::max(1.0, std::floor((room + kBetweenFrames) / (kLeastFrame + kBetweenFrames))));
  const std::size_t lines = (frames.size() + a_line - 1) / a_line;
  a_line = (frames.size() + lines - 1) / lines;
  const double share = room / static_cast<double>(a_line) - kBetweenFrames;

  // Labels beside a frame take their part of its share; all frames are cut to the same size.
  constexpr double kLabelRoom = 64;
  const bool named = std::all_of(frames.begin(), frames.end(), [&](const Heatmap& frame) {
    const double cells = static_cast<double>(std::max<std::size_t>({frame.rows, frame.columns, 1}));
    return (std::min(share, kLargestFrame) - kLabelRoom) / cells >= kLeastSize * 1.2;
  });
  const double size = std::floor(std::min(share, kLargestFrame) - (named ? kLabelRoom : 0));
  const double label_room = named ? room_for_labels(frames, kLabelRoom, sheet) : 0;
  double x = 0, tallest = 0, right = 0;
  const double top = y;
  std::optional<double> first_cells;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (i % a_line == 0 && i > 0) {
      x = 0;
      y += tallest + kBetweenFrames;
      tallest = 0;
    }
    constexpr Font caption{kSmallSize, true};
    const double frame_width = size + label_room;
    drawing.text(fitted(drawable(frames[i].title), frame_width, caption, sheet.measure),
                 {x + label_room, y + kAscent * kSmallSize}, {caption, kBlack});
    double used = kSmallSize * 1.7;
    if (!is_blank(frames[i])) {
      const Thumbnail small = thumbnail(frames[i], size, 26);
      Point at{x, y + used};
      if (named) {
        const auto rows =
            labels_of_rows(axis_names(small.map.row_labels, small.map.rows, small.map.focus_row), small.pitch,
                           kLabelRoom - 8, sheet);
        const auto columns = labels_of_columns(axis_names(small.map.column_labels, small.map.columns),
                                               small.pitch, kLabelRoom, sheet, Slanted::never);
        Drawing trial(sheet);
        at = {x + label_room, at.y + draw_column_labels(trial, columns, {0, 0}, small.pitch)};
        draw_row_labels(drawing, rows, at, small.pitch);
        draw_column_labels(drawing, columns, at, small.pitch);
      }
      draw_cells(drawing, small.map, at, small.pitch, small.pitch, kMostSeparate);
      if (!first_cells) first_cells = at.y;
      used = at.y - y + height_of(small);
      right = std::max(right, at.x + width_of(small));
    }
    tallest = std::max(tallest, used);
    x += frame_width + kBetweenFrames;
  }
  const double legend_top = first_cells.value_or(top);
  draw_legend(drawing, strip.range, strip.value_label, keys_of(frames), {right + kLegendGap, legend_top},
              std::clamp(y + tallest - legend_top, 72.0, 160.0));
  return std::move(drawing).finish();
}

}  // namespace attend::draw
