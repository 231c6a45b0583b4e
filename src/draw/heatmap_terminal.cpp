#include "draw/heatmap_terminal.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "draw/heatmap_cells.h"
#include "draw/legend_terminal.h"
#include "draw/prose.h"
#include "draw/style.h"
#include "draw/text_width.h"

namespace attend::draw {
namespace {

constexpr int kWidestColumnLabel = 12;
constexpr std::size_t kRowsAlwaysShown = 32;  // a wide map of few rows keeps them when its columns are pooled

struct Frame {
  Terminal terminal;
  HeatmapOptions options;

  bool plain() const { return terminal.color == ColorDepth::none; }
  std::size_t rows_per_pixel_line() const { return draw::rows_per_pixel_line(terminal.color); }
  bool fits(const Heatmap& map, const RowLabels& labels, int cell_width,
            std::size_t rows_per_line = 1) const {
    return map.columns * static_cast<std::size_t>(cell_width) + static_cast<std::size_t>(labels.width) <=
               static_cast<std::size_t>(terminal.width) &&
           map.rows <= static_cast<std::size_t>(options.most_lines) * rows_per_line;
  }
};

RowLabels measured(std::vector<std::string> texts, const Frame& frame) {
  RowLabels labels;
  for (const auto& text : texts) labels.width = std::max(labels.width, text_width(text));
  labels.width = std::min(labels.width, frame.terminal.width / 4);
  if (labels.width > 0) ++labels.width;
  labels.texts = std::move(texts);
  return labels;
}

RowLabels one_label_per_row(const Heatmap& map, const Frame& frame) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < map.rows; ++i) texts.push_back(printable(map.row_label(i)));
  RowLabels labels = measured(std::move(texts), frame);
  labels.focus = map.focus_row;
  return labels;
}

// A line of pixels may hold two rows, and then has both their names. Columns are numbered in this form, so
// where rows and columns are the same tokens a row shows its number too.
RowLabels one_label_per_pixel_line(const Heatmap& map, const Frame& frame) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < map.rows; i += frame.rows_per_pixel_line()) {
    texts.push_back(printable(map.row_label(i)));
    const bool two_names = !map.row_labels.empty() && !frame.plain() && i + 1 < map.rows;
    if (two_names) texts.back().append(" ").append(printable(map.row_label(i + 1)));
  }
  RowLabels labels = measured(std::move(texts), frame);
  if (map.focus_row) labels.focus = *map.focus_row / frame.rows_per_pixel_line();
  if (map.row_labels.empty() || map.row_labels != map.column_labels) return labels;
  for (std::size_t k = 0; k < labels.texts.size(); ++k) {
    const std::string name = pad_right(shorten(labels.texts[k], labels.width - 1), labels.width - 1);
    labels.texts[k] = std::to_string(k * frame.rows_per_pixel_line()) + " " + name;
  }
  labels.width += static_cast<int>(std::to_string(map.rows).size()) + 1;
  return labels;
}

std::vector<std::string> counted(std::size_t n) {
  std::vector<std::string> counts;
  for (std::size_t i = 0; i < n; ++i) counts.push_back(std::to_string(i));
  return counts;
}

NumberFormat widest_format(const Heatmap& map, int most_decimals) {
  std::vector<double> shown;
  for (std::size_t i = 0; i < map.values.size(); ++i) {
    if (map.masked.empty() || !map.masked[i]) shown.push_back(map.values[i]);
  }
  return number_format_for(shown, most_decimals);
}

int number_width(const Heatmap& map, NumberFormat format) {
  int width = 1;
  for (std::size_t i = 0; i < map.values.size(); ++i) {
    if (!map.masked.empty() && map.masked[i]) continue;
    width = std::max(width, text_width(format_number(map.values[i], format)));
  }
  return width;
}

struct NumberForm {
  NumberFormat format;
  int cell_width = 0;
};

// The form with numbers, if one fits: with full labels, with shortened ones, with fewer decimals.
std::optional<NumberForm> number_form(const Heatmap& map, const RowLabels& labels, const Frame& frame) {
  constexpr int kBlanks = 2;
  if (!frame.fits(map, labels, 3)) return {};  // also avoids formatting large maps in vain
  int label_width = 0;
  for (std::size_t j = 0; j < map.columns; ++j) {
    label_width =
        std::max(label_width, std::min(text_width(printable(map.column_label(j))), kWidestColumnLabel));
  }
  NumberFormat format = widest_format(map, frame.options.most_decimals);
  const double largest = std::max(std::abs(map.range.low), std::abs(map.range.high));
  for (;; --format.decimals) {
    // Without colour one of the blanks is the shade, and a second must separate it from the next number.
    const int width = number_width(map, format) + kBlanks + (frame.plain() ? 1 : 0);
    for (const int cell_width : {std::max(width, label_width + kBlanks), width}) {
      if (frame.fits(map, labels, cell_width)) return NumberForm{format, cell_width};
    }
    const bool two_digits_left = largest * std::pow(10.0, format.decimals - 1) >= 10;
    if (format.decimals <= 2 || !two_digits_left) return {};
  }
}

std::string shape_line(const Heatmap& map) {
  return std::to_string(map.rows) + " x " + std::to_string(map.columns);
}

// What rows, columns and colours are, as far as the map says.
std::string axes_of(const Heatmap& map) {
  std::string text;
  const auto add = [&](const char* what, const std::string& name) {
    if (!name.empty())
      text.append(text.empty() ? "" : ", ").append(what).append(": ").append(printable(name));
  };
  add("rows", map.row_title);
  add("columns", map.column_title);
  add("colours", map.value_label);
  return text;
}

std::string line_of(std::string_view text, Emphasis emphasis, const Frame& frame) {
  return styled(shorten(text, frame.terminal.width), {.emphasis = emphasis}, frame.terminal.color) + "\n";
}

// The shape in which the map fits as pixels.
Heatmap pooled_to_fit(const Heatmap& map, const Frame& frame, int names) {
  const int label_width = static_cast<int>(std::to_string(map.rows).size()) + 1 + (names > 0 ? names + 1 : 0);
  const auto most_columns = static_cast<std::size_t>(std::max(1, frame.terminal.width - label_width));
  const auto most_rows = static_cast<std::size_t>(frame.options.most_lines) * frame.rows_per_pixel_line();
  const std::size_t columns = std::min(map.columns, most_columns);
  const auto in_proportion = static_cast<std::size_t>(std::lround(
      static_cast<double>(map.rows) * static_cast<double>(columns) / static_cast<double>(map.columns)));
  const std::size_t rows = std::min({map.rows, most_rows, std::max(in_proportion, kRowsAlwaysShown)});
  return max_pooled(map, rows, columns);
}

// Columns for the names of rows in a map that is made smaller: a number alone says little about a text.
int room_for_names(const Heatmap& map, const Frame& frame) {
  constexpr int kMost = 12, kLeast = 4;
  const int digits = static_cast<int>(std::to_string(map.rows).size());
  const int room = std::min(kMost, frame.terminal.width / 4 - digits - 1);
  int widest = 0;
  for (const std::string& name : map.row_labels) widest = std::max(widest, text_width(printable(name)));
  return room < std::min(kLeast, widest) ? 0 : std::min(widest, room);
}

// Of each line of pixels the number of its first row, and its name where there is room for names.
std::vector<std::string> first_rows(const Heatmap& map, const Heatmap& small, const Frame& frame, int names) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < small.rows; i += frame.rows_per_pixel_line()) {
    texts.push_back(small.row_label(i));  // the number of the first that it covers
    if (names == 0) continue;
    const std::string name = shorten(printable(map.row_label(std::stoul(texts.back()))), names);
    texts.back().append(" ").append(pad_right(name, names));
  }
  return texts;
}

}  // namespace

std::string render_heatmap(const Heatmap& map, const Terminal& terminal, const HeatmapOptions& options) {
  check(map);
  const Frame frame{terminal, options};
  std::string text;
  if (!map.title.empty()) text += heading(printable(map.title), terminal);
  if (const std::string axes = axes_of(map); !axes.empty()) text += line_of(axes, Emphasis::dim, frame);
  if (map.rows == 0 || map.columns == 0)
    return text + line_of(shape_line(map) + ", empty", Emphasis::dim, frame);

  RowLabels labels = one_label_per_row(map, frame);
  std::string note;
  if (const auto form = number_form(map, labels, frame)) {
    text += number_lines(map, labels, form->format, form->cell_width, terminal.color);
  } else if (frame.fits(map, labels, 2)) {
    text += square_lines(map, labels, terminal.color);
  } else if (labels = one_label_per_pixel_line(map, frame);
             frame.fits(map, labels, 1, frame.rows_per_pixel_line())) {
    text += pixel_lines(map, labels, counted(map.columns), terminal.color);
  } else {
    const int names = room_for_names(map, frame);
    const Heatmap small = pooled_to_fit(map, frame, names);
    labels = measured(first_rows(map, small, frame, names), frame);
    if (small.focus_row) labels.focus = *small.focus_row / frame.rows_per_pixel_line();
    text += pixel_lines(small, labels, small.column_labels, terminal.color);
    note = shape_line(map) + " shown as " + shape_line(small) + ", each cell the largest of its block";
  }
  if (options.legend) {
    const std::string legend = render_legend(map.range, labels.width, terminal);
    if (!legend.empty()) text.append("\n").append(legend);
  }
  if (!note.empty()) text += line_of(note, Emphasis::dim, frame);
  return text;
}

}  // namespace attend::draw
