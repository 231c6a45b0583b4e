#include "draw/table.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "draw/prose.h"
#include "draw/text_width.h"

namespace attend::draw {
namespace {

constexpr int kColumnGap = 2;  // blanks between columns
constexpr int kLeastText = 8;  // a text column is never shorter than this
constexpr std::size_t kOmitted = static_cast<std::size_t>(-1);

// Which of n items are shown when not all fit: the first and the last, with a kOmitted between them.
template <class Fits>
std::vector<std::size_t> without_middle(std::size_t n, Fits fits) {
  std::vector<std::size_t> shown(n);
  std::iota(shown.begin(), shown.end(), std::size_t{0});
  if (n < 2 || fits(shown)) return shown;
  shown.assign(1, kOmitted);
  std::size_t front = 0, back = 0;
  while (front + back < n) {
    const bool at_front = front <= back;
    std::vector<std::size_t> more = shown;
    const auto place = more.begin() + static_cast<std::ptrdiff_t>(at_front ? front : front + 1);
    more.insert(place, at_front ? front : n - 1 - back);
    if (front > 0 && !fits(more)) break;  // at least one is always shown
    shown = std::move(more);
    ++(at_front ? front : back);
  }
  return shown;
}

// The table made printable, with the widths that its text needs.
struct Layout {
  Table table;
  bool has_header = false;
  int label_width = 0;
  std::vector<int> widths;
  std::vector<std::size_t> columns;  // those shown, kOmitted for the "…"

  int width_of(std::size_t column) const { return column == kOmitted ? 1 : widths[column]; }
  int total(const std::vector<std::size_t>& shown) const {
    int sum = label_width;
    for (const std::size_t column : shown) sum += width_of(column) + (sum > 0 ? kColumnGap : 0);
    return sum;
  }
};

Table made_printable(Table table) {
  check(table);
  for (std::string* text : {&table.title, &table.label_header}) *text = printable(*text);
  for (auto& column : table.columns) column.header = printable(column.header);
  for (auto& row : table.rows) {
    row.label = printable(row.label);
    row.cells.resize(table.columns.size());
    for (auto& cell : row.cells) cell = printable(cell);
  }
  return table;
}

void measure(Layout& layout) {
  const Table& table = layout.table;
  layout.label_width = text_width(table.label_header);
  layout.has_header = !table.label_header.empty();
  for (const auto& column : table.columns) {
    layout.widths.push_back(text_width(column.header));
    layout.has_header |= !column.header.empty();
  }
  for (const auto& row : table.rows) {
    layout.label_width = std::max(layout.label_width, text_width(row.label));
    for (std::size_t j = 0; j < row.cells.size(); ++j) {
      layout.widths[j] = std::max(layout.widths[j], text_width(row.cells[j]));
    }
  }
}

// Shortens the widest text column repeatedly until the table fits or all are short.
void shrink_text(Layout& layout, const std::vector<std::size_t>& all, int width) {
  for (int& column : layout.widths) column = std::min(column, width);
  for (int excess = layout.total(all) - width; excess > 0; excess = layout.total(all) - width) {
    int* widest = nullptr;
    for (std::size_t j = 0; j < layout.widths.size(); ++j) {
      const bool may_shrink = layout.table.columns[j].align == Align::left && layout.widths[j] > kLeastText;
      if (may_shrink && (widest == nullptr || layout.widths[j] > *widest)) widest = &layout.widths[j];
    }
    if (widest == nullptr) return;
    --*widest;
  }
}

Layout lay_out(const Table& table, int width) {
  Layout layout;
  layout.table = made_printable(table);
  measure(layout);
  layout.label_width =
      std::min(layout.label_width, table.columns.empty() ? width : std::max(kLeastText, width / 3));
  std::vector<std::size_t> all(layout.widths.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  shrink_text(layout, all, width);
  // A single column may still be wider than the room that the labels leave; it is then cut.
  const int mark = all.size() > 1 ? 1 + kColumnGap : 0;
  const int most = std::max(1, width - layout.label_width - (layout.label_width > 0 ? kColumnGap : 0) - mark);
  if (layout.total(all) > width) {
    for (int& column : layout.widths) column = std::min(column, most);
  }
  layout.columns =
      without_middle(all.size(), [&](const auto& shown) { return layout.total(shown) <= width; });
  return layout;
}

// One line; cell(j) is the text of column j.
template <class Cell>
std::string line_of(const Layout& layout, const std::string& label, Cell cell, std::string_view omitted,
                    const Style& style, ColorDepth depth) {
  StyledLine line(depth);
  std::string blanks;
  if (layout.label_width > 0) {
    line.add(pad_right(shorten(label, layout.label_width), layout.label_width), style);
    blanks = repeat(" ", kColumnGap);
  }
  for (const std::size_t j : layout.columns) {
    line.add(blanks);
    blanks = repeat(" ", kColumnGap);
    if (j == kOmitted) {
      line.add(omitted, {.emphasis = Emphasis::dim});
      continue;
    }
    const int width = layout.widths[j];
    const std::string text = shorten(cell(j), width);
    const bool left = layout.table.columns[j].align == Align::left;
    line.add(left ? pad_right(text, width) : pad_left(text, width), style);
  }
  return line.finish();
}

}  // namespace

void check(const Table& table) {
  for (const auto& row : table.rows) {
    if (row.cells.size() > table.columns.size()) {
      refuse("table", "a row has ", row.cells.size(), " cells for ", table.columns.size(), " columns");
    }
  }
}

std::string render_table(const Table& table, const Terminal& terminal, std::size_t most_rows) {
  const Layout layout = lay_out(table, terminal.width);
  const auto& rows = layout.table.rows;
  std::string text;
  if (!layout.table.title.empty()) text += heading(layout.table.title, terminal);
  if (layout.has_header) {
    text += line_of(
        layout, layout.table.label_header, [&](std::size_t j) { return layout.table.columns[j].header; }, "…",
        {.emphasis = Emphasis::dim}, terminal.color);
  }
  const auto shown = without_middle(
      rows.size(), [&](const auto& some) { return some.size() <= std::max<std::size_t>(most_rows, 2); });
  for (const std::size_t i : shown) {
    if (i == kOmitted) {
      text += line_of(
          layout, layout.label_width > 0 ? "⋮" : "", [](std::size_t) { return "⋮"; }, "⋱",
          {.emphasis = Emphasis::dim}, terminal.color);
      continue;
    }
    text += line_of(
        layout, rows[i].label, [&](std::size_t j) { return rows[i].cells[j]; }, "…",
        {.emphasis = rows[i].emphasis}, terminal.color);
  }
  return text;
}

Table matrix_table(std::string title, const std::vector<std::string>& row_labels,
                   const std::vector<std::string>& column_labels, std::span<const double> values,
                   std::size_t columns, NumberFormat format) {
  const std::size_t rows = columns == 0 ? row_labels.size() : values.size() / columns;
  if (rows * columns != values.size()) {
    refuse("table", values.size(), " values are not a whole number of rows of ", columns);
  }
  Table table;
  table.title = std::move(title);
  table.columns.resize(columns);
  for (std::size_t j = 0; j < std::min(columns, column_labels.size()); ++j)
    table.columns[j].header = column_labels[j];
  for (std::size_t i = 0; i < rows; ++i) {
    TableRow row;
    if (i < row_labels.size()) row.label = row_labels[i];
    for (const double value : values.subspan(i * columns, columns))
      row.cells.push_back(format_number(value, format));
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace attend::draw
