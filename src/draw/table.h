// A plain text table: a column of labels, headers, cells. It fits the terminal: text columns are shortened
// first, then columns of the middle give way to one "…", and rows of the middle beyond a limit to one "⋮".
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
  std::vector<std::string> cells;  // one per column; those not given are blank
  Emphasis emphasis = Emphasis::none;
};

struct Table {
  std::string title;  // may be empty, as may all headers and all labels: nothing is then drawn for them
  std::string label_header;  // above the labels
  std::vector<TableColumn> columns;
  std::vector<TableRow> rows;
};

// Throws when a row has more cells than there are columns. All text is made printable() here.
std::string render_table(const Table& table, const Terminal& terminal, std::size_t most_rows = 60);

// A matrix (rows, columns), row-major, as a table. No column labels: no header.
Table matrix_table(std::string title, const std::vector<std::string>& row_labels,
                   const std::vector<std::string>& column_labels, std::span<const double> values,
                   std::size_t columns, NumberFormat format);

}  // namespace attend::draw
