#include "draw/thumbnails_terminal.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "draw/heatmap_cells.h"
#include "draw/legend_terminal.h"
#include "draw/style.h"
#include "draw/text_width.h"

namespace attend::draw {
namespace {

constexpr int kLeastMap = 6;       // columns of a map; smaller maps show no pattern
constexpr int kWidestInView = 16;  // in a model view; wider maps make it too tall to see at once
constexpr int kWidestFrame = 32;
constexpr int kThumbnailGap = 1;
constexpr Style kTitleStyle{.emphasis = Emphasis::bold};

// As large as fits into `columns` characters and as many half lines.
Heatmap thumbnail(const Heatmap& map, int columns) {
  const auto most = static_cast<std::size_t>(columns);
  return max_pooled(map, std::min(map.rows, most), std::min(map.columns, most));
}

// How many maps go side by side, and how wide each may be.
struct Shelf {
  std::size_t maps = 1;
  int columns = kLeastMap;
};

// The width that maps and the names above or below them would take on an unlimited line.
int wanted_columns(const std::vector<Heatmap>& maps, const std::vector<std::string>& names) {
  std::size_t columns = 1;
  for (const Heatmap& map : maps) columns = std::max(columns, map.columns);
  int wanted = static_cast<int>(std::min<std::size_t>(columns, kWidestFrame));
  for (const Heatmap& map : maps) wanted = std::max(wanted, text_width(printable(map.title)));
  for (const std::string& name : names) wanted = std::max(wanted, text_width(printable(name)));
  return wanted;
}

// count > 0; no map is wider than `widest`.
Shelf shelf_for(std::size_t count, int width, int widest) {
  const auto room = static_cast<std::size_t>(std::max(width, kLeastMap + kThumbnailGap));
  Shelf shelf;
  shelf.maps = std::clamp<std::size_t>(room / (kLeastMap + kThumbnailGap), 1, count);
  // As few lines as possible, with about as many maps in each of them.
  const std::size_t lines = (count + shelf.maps - 1) / shelf.maps;
  if (lines > 1) shelf.maps = (count + lines - 1) / lines;
  shelf.columns = std::min(static_cast<int>(room / shelf.maps) - kThumbnailGap, widest);
  return shelf;
}

// Which of the gaps after maps side by side have a line in them: those between groups.
struct Gaps {
  std::size_t first = 0, group = 0;  // the place of the first map; 0: no groups

  std::string after(std::size_t place, std::size_t count) const {
    const bool line = group > 1 && place + 1 < count && (first + place + 1) % group == 0;
    return line ? "│" : repeat(" ", kThumbnailGap);
  }
};

// Maps side by side, indented by `margin` columns; `label` precedes their first line.
std::string line_of_maps(std::span<const Heatmap> maps, const Shelf& shelf, std::string_view label,
                         int margin, ColorDepth depth, const Gaps& gaps = {}) {
  std::vector<Heatmap> small;
  std::size_t tallest = 0;
  for (const Heatmap& map : maps) {
    const bool blank = map.rows == 0 || map.columns == 0;
    small.push_back(blank ? Heatmap{} : thumbnail(map, shelf.columns));
    tallest = std::max(tallest, small.back().rows);
  }
  std::string text;
  StyledLine line(depth);
  // Without colour a line of characters is one row of a map, and characters are twice as tall as wide:
  // showing every other row would keep the shape of the map, but lose values.
  for (std::size_t row = 0; row < tallest; row += rows_per_pixel_line(depth)) {
    line.add(pad_right(row == 0 ? label : "", margin), kDim);
    for (std::size_t place = 0; place < small.size(); ++place) {
      const Heatmap& map = small[place];
      if (row < map.rows) add_pixels(line, map, row, depth);
      const int used = row < map.rows ? static_cast<int>(map.columns) : 0;
      line.add(repeat(" ", shelf.columns - used));
      line.add(gaps.after(place, small.size()), kDim);
    }
    text += line.finish();
  }
  return text;
}

std::string names_line(const std::vector<std::string>& names, const Shelf& shelf, int margin,
                       ColorDepth depth) {
  if (std::all_of(names.begin(), names.end(), [](const auto& name) { return name.empty(); })) return {};
  StyledLine line(depth);
  line.add(repeat(" ", margin));
  for (const std::string& name : names)
    line.add(pad_right(shorten(printable(name), shelf.columns), shelf.columns + kThumbnailGap), kDim);
  return line.finish();
}

std::string heading(const std::string& title, const Terminal& terminal) {
  return title.empty()
             ? ""
             : styled(shorten(printable(title), terminal.width), kTitleStyle, terminal.color) + "\n";
}

std::string dim_line(const std::string& words, const Terminal& terminal) {
  return styled(shorten(words, terminal.width), kDim, terminal.color) + "\n";
}

template <class Name>
std::vector<std::string> names_of(std::size_t from, std::size_t to, Name name) {
  std::vector<std::string> names;
  for (std::size_t i = from; i < to; ++i) names.push_back(name(i));
  return names;
}

}  // namespace

std::string render_model_view(const ModelView& view, const Terminal& terminal) {
  check(view);
  std::string text = heading(view.title, terminal);
  if (view.maps.empty()) return text + dim_line("no heads", terminal);
  int margin = text_width("layer");
  for (std::size_t layer = 0; layer < view.layers; ++layer)
    margin = std::max(margin, text_width(printable(view.layer_label(layer))));
  margin = std::min(margin, terminal.width / 4) + 1;
  const auto head_name = [&](std::size_t head) { return view.head_label(head); };
  const auto head_names = names_of(0, view.heads, head_name);
  const Shelf shelf = shelf_for(view.heads, terminal.width - margin,
                                std::min(kWidestInView, wanted_columns(view.maps, head_names)));
  text += dim_line("layers from top to bottom, heads from left to right", terminal);
  if (view.group > 1)
    text +=
        dim_line(joined("heads between two lines share keys and values, ", view.group, " each"), terminal);
  for (std::size_t layer = 0; layer < view.layers; ++layer) {
    for (std::size_t head = 0; head < view.heads; head += shelf.maps) {
      const std::size_t end = std::min(head + shelf.maps, view.heads);
      const bool needs_names = layer == 0 || shelf.maps < view.heads;
      if (needs_names) {
        text += names_line(names_of(head, end, head_name), shelf, margin, terminal.color);
      }
      const std::string label = shorten(printable(view.layer_label(layer)), margin - 1);
      text +=
          line_of_maps(std::span(view.maps).subspan(layer * view.heads + head, end - head), shelf,
                       head == 0 ? label : "", margin, terminal.color, {.first = head, .group = view.group});
      text += names_line(names_of(head, end, [&](std::size_t h) { return view.at(layer, h).title; }), shelf,
                         margin, terminal.color);
    }
    text += layer + 1 < view.layers ? "\n" : "";
  }
  if (!share_a_scale(view.maps)) return text + dim_line("each map has its own scale", terminal);
  const std::string legend = render_legend(view.maps.front().range, margin, terminal);
  return legend.empty() ? text : text + "\n" + legend;
}

std::string render_film_strip(const FilmStrip& strip, const Terminal& terminal) {
  check(strip);
  std::string text = heading(strip.title, terminal);
  if (!strip.value_label.empty()) text += dim_line("colours: " + printable(strip.value_label), terminal);
  if (strip.frames.empty()) return text + dim_line("no frames", terminal);
  const std::vector<Heatmap> frames = frames_on_one_scale(strip);
  const Shelf shelf =
      shelf_for(frames.size(), terminal.width, std::min(kWidestFrame, wanted_columns(frames, {})));
  for (std::size_t first = 0; first < frames.size(); first += shelf.maps) {
    const std::size_t end = std::min(first + shelf.maps, frames.size());
    text += names_line(names_of(first, end, [&](std::size_t i) { return frames[i].title; }), shelf, 0,
                       terminal.color);
    text += line_of_maps(std::span(frames).subspan(first, end - first), shelf, "", 0, terminal.color);
    text += "\n";
  }
  return text + render_legend(strip.range, 0, terminal);
}

}  // namespace attend::draw
