// A table on a page: labels, then columns as wide as their text. Where they do not all fit, the widest column
// is shortened until they do.
#include <algorithm>

#include "draw/page/fit_text.h"
#include "draw/page/parts.h"

namespace attend::draw {
namespace {

constexpr double kRowPitch = 15;
constexpr double kBetweenColumns = 14;
constexpr double kNarrowestColumn = 24;
constexpr Font kHeaderFont{kSmallSize};

Font font_of(const TableRow& row) { return {kLabelSize, row.emphasis == Emphasis::bold}; }

class TablePage {
 public:
  TablePage(const Table& table, const Sheet& sheet)
      : table_(table), drawing_(sheet), widths_(table.columns.size() + 1) {}

  Scene draw() && {
    double y = drawing_.part_title(table_.title);
    measure();
    if (has_header_) {
      draw_line(
          y, [&](std::size_t column) { return header(column); }, kHeaderFont, kGrey);
      y += kRowPitch;
      drawing_.add(Line{{0, y - 2}, {total(), y - 2}, {{kHairline}, 0.7}});
    }
    for (const TableRow& row : table_.rows) {
      const Rgb color = row.emphasis == Emphasis::dim ? kGrey : kBlack;
      draw_line(
          y, [&](std::size_t column) { return cell(row, column); }, font_of(row), color);
      y += kRowPitch;
    }
    if (table_.rows.empty()) drawing_.note("no rows", {0, y});
    return std::move(drawing_).finish();
  }

 private:
  // Column 0 holds the labels.
  const std::string& header(std::size_t column) const {
    return column == 0 ? table_.label_header : table_.columns[column - 1].header;
  }
  std::string cell(const TableRow& row, std::size_t column) const {
    if (column == 0) return row.label;
    return column <= row.cells.size() ? row.cells[column - 1] : std::string();
  }
  bool leftwards(std::size_t column) const {
    return column == 0 || table_.columns[column - 1].align == Align::left;
  }
  double total() const {
    double sum = 0;
    for (const double width : widths_) sum += width == 0 ? 0 : width + kBetweenColumns;
    return std::max(sum - kBetweenColumns, 0.0);
  }

  void measure() {
    for (std::size_t column = 0; column < widths_.size(); ++column) {
      has_header_ |= !header(column).empty();
      widths_[column] = drawing_.width_of(drawable(header(column)), kHeaderFont);
      for (const TableRow& row : table_.rows)
        widths_[column] =
            std::max(widths_[column], drawing_.width_of(drawable(cell(row, column)), font_of(row)));
      widths_[column] = std::min(widths_[column], drawing_.sheet().width);
    }
    for (double excess = total() - drawing_.sheet().width; excess > 0;
         excess = total() - drawing_.sheet().width) {
      double& widest = *std::max_element(widths_.begin(), widths_.end());
      if (widest <= kNarrowestColumn) return;  // the page grows
      widest = std::max(kNarrowestColumn, widest - std::max(1.0, excess / 4));
    }
  }

  template <class TextOf>
  void draw_line(double y, TextOf text_of, Font font, Rgb color) {
    double x = 0;
    const double base = y + kRowPitch / 2 + kMiddleToBase * font.size;
    for (std::size_t column = 0; column < widths_.size(); ++column) {
      if (widths_[column] == 0) continue;
      const std::string text =
          fitted(drawable(text_of(column)), widths_[column] + 0.01, font, drawing_.sheet().measure);
      const bool left = leftwards(column);
      drawing_.text(text, {left ? x : x + widths_[column], base},
                    {font, color, left ? Anchor::start : Anchor::end});
      x += widths_[column] + kBetweenColumns;
    }
  }

  const Table& table_;
  Drawing drawing_;
  std::vector<double> widths_;
  bool has_header_ = false;
};

}  // namespace

Scene lay_out(const Table& table, const Sheet& sheet) { return TablePage(table, sheet).draw(); }

}  // namespace attend::draw
