#include "draw/heatmap_cells.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "draw/style.h"
#include "draw/text_width.h"

namespace attend::draw {
namespace {

constexpr std::string_view kMasked = "·";
constexpr std::string_view kNotANumber = "?";
constexpr std::size_t kTallestHeader = 10;  // lines of a vertical label
constexpr std::size_t kRulerStep = 10;      // columns between two numbers

double place_of(const Heatmap& map, std::size_t row, std::size_t column) {
  return place_in(map.range, map.at(row, column));
}

// The line in focus has a pointer where the others have a blank.
void add_label(StyledLine& line, const RowLabels& labels, std::size_t index) {
  if (labels.width == 0) return;
  const std::string label = pad_left(shorten(labels.texts[index], labels.width - 1), labels.width - 1);
  const bool focus = labels.focus == index;
  line.add(label, {.emphasis = focus ? Emphasis::bold : Emphasis::none}).add(focus ? "▸" : " ");
}

// Vertical labels, bottom-aligned above the cells.
std::string vertical_header(const Heatmap& map, const RowLabels& labels, ColorDepth depth) {
  std::vector<std::vector<std::string>> columns(map.columns);
  std::size_t height = 0;
  for (std::size_t j = 0; j < map.columns; ++j) {
    const std::string label = printable(map.column_label(j));
    for (const std::string_view character : characters(label)) columns[j].push_back(printable(character));
    if (columns[j].size() > kTallestHeader) {
      columns[j].resize(kTallestHeader);
      columns[j].back() = "⋮";
    }
    height = std::max(height, columns[j].size());
  }
  std::string text;
  for (std::size_t i = 0; i < height; ++i) {
    StyledLine line(depth);
    line.add(repeat(" ", labels.width));
    for (const auto& column : columns) {
      const std::size_t above = height - column.size();
      line.add(pad_right(i < above ? "" : shorten(column[i - above], 2), 2), kDim);
    }
    text += line.finish();
  }
  return text;
}

// Columns too narrow for names are numbered: 0, 10, 20, each number starting above its column.
std::string ruler(const std::vector<std::string>& counts, const RowLabels& labels, ColorDepth depth) {
  std::string marks;
  for (std::size_t j = 0; j < counts.size(); j += kRulerStep) {
    if (j == 0 || j + counts[j].size() <= counts.size()) marks += pad_right(counts[j], kRulerStep);
  }
  StyledLine line(depth);
  return line.add(repeat(" ", labels.width)).add(marks, kDim).finish();
}

void add_number(StyledLine& line, const Heatmap& map, std::size_t i, std::size_t j, NumberFormat format,
                int width, ColorDepth depth) {
  const double value = map.at(i, j);
  const double place = place_of(map, i, j);
  const std::string number = map.is_masked(i, j) ? std::string(kMasked) : format_number(value, format);
  const bool plain = map.is_masked(i, j) || std::isnan(value);
  if (depth == ColorDepth::none) {
    line.add(pad_left(number, width - 1)).add(plain ? " " : shade(place));
  } else {
    line.add(pad_both(number, width), plain ? kDim : cell_style(place, depth));
  }
}

// The upper and lower half of a character, each in its own colour; blank where a cell is masked or missing.
void add_halves(StyledLine& line, const Heatmap& map, std::size_t row, std::size_t column, ColorDepth depth) {
  std::array<std::optional<Rgb>, 2> halves;
  for (std::size_t k = 0; k < 2 && row + k < map.rows; ++k) {
    if (map.is_masked(row + k, column)) continue;
    const double place = place_of(map, row + k, column);
    if (std::isnan(place)) {
      line.add(kNotANumber);
      return;
    }
    halves[k] = cell_style(place, depth).background;
  }
  const auto [upper, lower] = halves;
  if (upper && upper == lower) {
    line.add(" ", {.text = {}, .background = upper});
  } else if (upper) {
    line.add("▀", {.text = upper, .background = lower});
  } else if (lower) {
    line.add("▄", {.text = lower});
  } else {
    line.add(kMasked, kDim);
  }
}

}  // namespace

std::string_view shade(double place) {
  constexpr std::array<std::string_view, 5> kShades{" ", "░", "▒", "▓", "█"};
  const double level = std::clamp(place, 0.0, 1.0) * kShades.size();
  return kShades[std::min(static_cast<std::size_t>(level), kShades.size() - 1)];
}

std::string number_lines(const Heatmap& map, const RowLabels& labels, NumberFormat format, int cell_width,
                         ColorDepth depth) {
  StyledLine line(depth);
  line.add(repeat(" ", labels.width));
  for (std::size_t j = 0; j < map.columns; ++j) {
    const std::string label = shorten(printable(map.column_label(j)), cell_width - 1);
    // Above a bare number the label is right-aligned with the digits; above a coloured cell it is centred.
    const bool plain = depth == ColorDepth::none;
    line.add(plain ? pad_right(pad_left(label, cell_width - 1), cell_width) : pad_both(label, cell_width),
             kDim);
  }
  std::string text = line.finish();
  for (std::size_t i = 0; i < map.rows; ++i) {
    add_label(line, labels, i);
    for (std::size_t j = 0; j < map.columns; ++j) add_number(line, map, i, j, format, cell_width, depth);
    text += line.finish();
  }
  return text;
}

std::string square_lines(const Heatmap& map, const RowLabels& labels, ColorDepth depth) {
  std::string text = vertical_header(map, labels, depth);
  StyledLine line(depth);
  for (std::size_t i = 0; i < map.rows; ++i) {
    add_label(line, labels, i);
    for (std::size_t j = 0; j < map.columns; ++j) {
      const double place = place_of(map, i, j);
      if (map.is_masked(i, j) || std::isnan(place)) {
        line.add(pad_right(map.is_masked(i, j) ? kMasked : kNotANumber, 2), kDim);
      } else if (depth == ColorDepth::none) {
        line.add(repeat(shade(place), 2));
      } else {
        line.add("  ", {.text = {}, .background = cell_style(place, depth).background});
      }
    }
    text += line.finish();
  }
  return text;
}

std::size_t rows_per_pixel_line(ColorDepth depth) { return depth == ColorDepth::none ? 1 : 2; }

void add_pixels(StyledLine& line, const Heatmap& map, std::size_t row, ColorDepth depth) {
  for (std::size_t j = 0; j < map.columns; ++j) {
    if (depth != ColorDepth::none) {
      add_halves(line, map, row, j, depth);
    } else if (map.is_masked(row, j)) {
      line.add(kMasked);
    } else {
      const double place = place_of(map, row, j);
      line.add(std::isnan(place) ? kNotANumber : shade(place));
    }
  }
}

std::string pixel_lines(const Heatmap& map, const RowLabels& labels,
                        const std::vector<std::string>& column_counts, ColorDepth depth) {
  std::string text = ruler(column_counts, labels, depth);
  StyledLine line(depth);
  const std::size_t rows_per_line = rows_per_pixel_line(depth);
  for (std::size_t i = 0; i < map.rows; i += rows_per_line) {
    add_label(line, labels, i / rows_per_line);
    add_pixels(line, map, i, depth);
    text += line.finish();
  }
  return text;
}

}  // namespace attend::draw
