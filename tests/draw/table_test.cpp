#include "draw/table.h"

#include <gtest/gtest.h>

#include "support/lines.h"
#include "support/plain_terminal.h"
#include "support/refuses.h"
#include "support/sanitized.h"

namespace attend::draw {
namespace {

Table table_of(std::size_t rows, std::size_t columns) {
  std::vector<std::string> row_labels, column_labels;
  std::vector<double> values;
  for (std::size_t i = 0; i < rows; ++i) row_labels.push_back("row" + std::to_string(i));
  for (std::size_t j = 0; j < columns; ++j) column_labels.push_back("c" + std::to_string(j));
  for (std::size_t k = 0; k < rows * columns; ++k) values.push_back(static_cast<double>(k) / 4);
  return matrix_table("Title", row_labels, column_labels, values, columns, {2, false});
}

TEST(Table, NumbersStandBelowEachOther) {
  EXPECT_EQ(render_table(table_of(2, 3), plain(80)),
            "Title\n"
            "        c0    c1    c2\n"
            "row0  0.00  0.25  0.50\n"
            "row1  0.75  1.00  1.25\n");
}

TEST(Table, TheMiddleGivesWay) {
  EXPECT_EQ(render_table(table_of(5, 9), plain(30), 4),
            "Title\n"
            "        c0    c1  …     c8\n"
            "row0  0.00  0.25  …   2.00\n"
            "row1  2.25  2.50  …   4.25\n"
            "⋮        ⋮     ⋮  ⋱      ⋮\n"
            "row4  9.00  9.25  …  11.00\n");
}

TEST(Table, TextIsShortenedBeforeAnythingIsDropped) {
  Table table;
  table.label_header = "step";
  table.columns = {{"operation", Align::left}, {"shape", Align::left}};
  table.rows = {{"weights", {"softmax of each row", "(4, 4) -> (4, 4)"}}, {"output", {"weights @ V"}}};
  EXPECT_EQ(render_table(table, plain(60)),
            "step     operation            shape\n"
            "weights  softmax of each row  (4, 4) -> (4, 4)\n"
            "output   weights @ V\n");
  EXPECT_EQ(render_table(table, plain(36)),
            "step     operation     shape\n"
            "weights  softmax of …  (4, 4) -> (4…\n"
            "output   weights @ V\n");
}

TEST(Table, EveryLineFits) {
  for (const std::size_t columns : {0, 1, 2, 7, 60, 400}) {
    Table table = table_of(3, columns);
    table.rows[1].label = std::string(300, 'x');
    table.rows[2].emphasis = Emphasis::bold;
    if (columns > 0) table.columns[0].header = "a header that is longer than the whole of a narrow screen";
    for (int width = 20; width <= 200; width += kSanitized ? 45 : 5) {
      for (const ColorDepth depth : {ColorDepth::none, ColorDepth::truecolor}) {
        EXPECT_LE(widest_line(render_table(table, {depth, width})), width) << columns;
      }
    }
  }
}

TEST(Table, Empty) {
  EXPECT_EQ(render_table({}, plain(80)), "");
  EXPECT_EQ(render_table(table_of(0, 0), plain(80)), "Title\n");
  EXPECT_EQ(render_table(table_of(0, 2), plain(80)), "Title\nc0  c1\n");
  EXPECT_EQ(render_table(table_of(2, 0), plain(80)), "Title\nrow0\nrow1\n");
}

TEST(Table, TokensCannotDriveTheTerminal) {
  Table table = table_of(1, 1);
  table.title = table.rows[0].label = table.rows[0].cells[0] = table.columns[0].header = "\x1b[2J\n\u202E";
  const std::string text = render_table(table, plain(80));
  EXPECT_TRUE(is_tame(text));
  EXPECT_EQ(lines_of(text).size(), 3u);
}

TEST(Table, RefusesWhatDoesNotFitTogether) {
  Table table;
  table.rows = {{"row", {"1", "2"}}};
  EXPECT_REFUSES(render_table(table, plain(80)), "[table] a row has 2 cells for 0 columns");
  const double values[] = {1, 2, 3};
  EXPECT_REFUSES(matrix_table("", {}, {}, values, 2, {}),
                 "[table] 3 values are not a whole number of rows of 2");
}

TEST(Table, NoWidthIsTooSmallToSurvive) {
  for (int width = 0; width < 20; ++width) EXPECT_FALSE(render_table(table_of(3, 5), plain(width)).empty());
}

}  // namespace
}  // namespace attend::draw
