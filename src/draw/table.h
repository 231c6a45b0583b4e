// A plain text table: a column of labels, headers, cells. It fits the terminal: text columns are shortened
// first, then columns in the middle are replaced by one "…", and rows in the middle beyond a limit by one
// "⋮".
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "draw/number.h"
#include "draw/style.h"
#include "draw/terminal.h"

namespace attend::draw {

enum class Align { left, right };

struct TableColumn {
  std::string header;
  Align align = Align::right;  // left for text
};

struct TableRow {
  std::string label;
  std::vector<std::string> cells;  // one per column; missing ones are blank
  Emphasis emphasis = Emphasis::none;
};

struct Table {
  std::string title;         // may be empty, as may all headers and all labels: they are then not drawn
  std::string label_header;  // above the labels
  std::vector<TableColumn> columns;
  std::vector<TableRow> rows;
};

// Throws std::invalid_argument when a row has more cells than there are columns.
void check(const Table& table);

// Checks the table. All text is made printable() here.
std::string render_table(const Table& table, const Terminal& terminal, std::size_t most_rows = 60);

// A matrix (rows, columns), row-major, as a table. Without column labels it has no header.
Table matrix_table(std::string title, const std::vector<std::string>& row_labels,
                   const std::vector<std::string>& column_labels, std::span<const double> values,
                   std::size_t columns, NumberFormat format);

}  // namespace attend::draw
