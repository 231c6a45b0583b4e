#include "draw/heatmap_terminal.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "draw/text_width.h"
#include "support/lines.h"
#include "support/plain_terminal.h"
#include "support/sanitized.h"

namespace attend::draw {
namespace {

constexpr ColorDepth kDepths[] = {ColorDepth::none, ColorDepth::ansi256, ColorDepth::truecolor};

// What the seeds' four tokens give.
Heatmap love() {
  Heatmap map;
  map.title = "Weights";
  map.rows = map.columns = 4;
  map.row_labels = map.column_labels = {"I", "love", "deep", "learning"};
  for (int i = 0; i < 16; ++i) map.values.push_back(i % 5 == 0 ? 0.475367 : 0.174878);
  map.range = {0, 0.475367};
  return map;
}

Heatmap labelled_map(std::size_t rows, std::size_t columns, const std::string& label = "") {
  Heatmap map;
  map.rows = rows;
  map.columns = columns;
  for (std::size_t i = 0; i < rows; ++i) map.row_labels.push_back(label + std::to_string(i));
  for (std::size_t j = 0; j < columns; ++j) map.column_labels.push_back(label + std::to_string(j));
  for (std::size_t k = 0; k < rows * columns; ++k) map.values.push_back(std::sin(static_cast<double>(k)));
  map.range = {-1, 1};
  return map;
}

TEST(HeatmapTerminal, NumbersWithShades) {
  EXPECT_EQ(render_heatmap(love(), plain(100)),
            "Weights\n"
            "                 I      love      deep  learning\n"
            "       I    0.4754█   0.1749░   0.1749░   0.1749░\n"
            "    love    0.1749░   0.4754█   0.1749░   0.1749░\n"
            "    deep    0.1749░   0.1749░   0.4754█   0.1749░\n"
            "learning    0.1749░   0.1749░   0.1749░   0.4754█\n"
            "\n"
            "         0   ░░▒▒▓▓██ 0.475\n");
}

TEST(HeatmapTerminal, NoLegendWhereItDoesNotFit) {
  Heatmap map = labelled_map(1, 1, "long");
  for (int width = 8; width <= 30; ++width) {
    for (const std::string& line : lines_of(render_heatmap(map, plain(width)))) {
      EXPECT_LE(text_width(line), width) << line;
    }
  }
}

TEST(HeatmapTerminal, FewerDecimalsBeforeNone) {
  EXPECT_EQ(lines_of(render_heatmap(love(), plain(40)))[2], "       I   0.48█  0.17░  0.17░  0.17░");
}

TEST(HeatmapTerminal, SquaresWithLabelsWrittenDownwards) {
  Heatmap map = love();
  map.masked = {false, true,  true,  true, false, false, true,  true,
                false, false, false, true, false, false, false, false};
  EXPECT_EQ(render_heatmap(map, plain(20)),
            "Weights\n"
            "            l\n"
            "            e\n"
            "            a\n"
            "            r\n"
            "        l d n\n"
            "        o e i\n"
            "        v e n\n"
            "      I e p g\n"
            "    I ██· · ·\n"
            " love ░░██· ·\n"
            " deep ░░░░██·\n"
            "lear… ░░░░░░██\n"
            "\n"
            "      0  ░▒▓█ 0.475\n");
}

TEST(HeatmapTerminal, ColouredCellsAreNumbersOnTheirColour) {
  Heatmap map = love();
  map.rows = map.columns = 1;
  map.row_labels = map.column_labels = {"x"};
  map.values = {1};
  map.range = {0, 1};
  const HeatmapOptions bare{.legend = false};
  EXPECT_EQ(render_heatmap(map, {ColorDepth::truecolor, 80}, bare),
            "\x1b[0;1mWeights\x1b[0m\n"
            "  \x1b[0;2m x\x1b[0m\n"
            "x \x1b[0;38;2;0;0;0;48;2;245;244;141m 1 \x1b[0m\n");
  EXPECT_EQ(render_heatmap(map, {ColorDepth::ansi256, 80}, bare),
            "\x1b[0;1mWeights\x1b[0m\n"
            "  \x1b[0;2m x\x1b[0m\n"
            "x \x1b[0;38;5;16;48;5;228m 1 \x1b[0m\n");
}

TEST(HeatmapTerminal, LargeMapsArePooledAndSaySo) {
  const auto numbered_map = [](std::size_t rows, std::size_t columns) {
    Heatmap map = labelled_map(rows, columns);
    map.row_labels = map.column_labels = {};
    return map;
  };
  const std::string text = render_heatmap(numbered_map(400, 400), plain(100));
  EXPECT_EQ(lines_of(text).back(), "400 x 400 shown as 96 x 96, each cell the largest of its block");
  const std::string wide = render_heatmap(numbered_map(4, 400), plain(100));
  EXPECT_EQ(lines_of(wide).back(), "4 x 400 shown as 4 x 98, each cell the largest of its block");
  const std::string tall = render_heatmap(numbered_map(4000, 3), plain(100));
  EXPECT_EQ(lines_of(tall).back(), "4000 x 3 shown as 100 x 3, each cell the largest of its block");
}

TEST(HeatmapTerminal, RowsOfAPooledMapHaveNames) {
  const std::vector<std::string> lines = lines_of(render_heatmap(labelled_map(400, 400, "word"), plain(100)));
  EXPECT_EQ(lines.back(), "400 x 400 shown as 88 x 88, each cell the largest of its block");
  EXPECT_TRUE(lines[1].starts_with("  0 word0   ")) << lines[1];
  EXPECT_TRUE(lines[2].starts_with("  4 word4   ")) << lines[2];
  for (const int width : {20, 40, 60, 100, 200}) {
    for (const std::string& line : lines_of(render_heatmap(labelled_map(400, 400, "someword"), plain(width))))
      EXPECT_LE(text_width(line), width) << line;
  }
}

TEST(HeatmapTerminal, EveryLineFits) {
  const std::vector<std::size_t> sizes =
      kSanitized ? std::vector<std::size_t>{1, 3, 20, 60, 250}
                 : std::vector<std::size_t>{1, 2, 3, 5, 8, 13, 20, 31, 40, 60, 99, 150, 250, 400};
  for (const std::size_t n : sizes) {
    for (const char* label :
         {"", "注意", "مرحبا", "a label that is much longer than any screen is wide, far beyond 40"}) {
      const Heatmap map = labelled_map(std::min<std::size_t>(n, 9), n, label);
      for (int width = 40; width <= 200; width += kSanitized ? 80 : 16) {
        for (const ColorDepth depth : kDepths) {
          EXPECT_LE(widest_line(render_heatmap(map, {depth, width})), width) << n << label;
        }
      }
    }
  }
  for (const ColorDepth depth : kDepths) {
    for (int width = 20; width <= 200; width += kSanitized ? 180 : 30) {
      EXPECT_LE(widest_line(render_heatmap(labelled_map(400, 400, "t"), {depth, width})), width);
    }
  }
}

// A caller who indents may leave less room than any terminal has; lines are then too long, but nothing worse
// happens.
TEST(HeatmapTerminal, NoWidthIsTooSmallToSurvive) {
  for (const std::size_t n : {1, 4, 40}) {
    for (int width = 0; width < 20; ++width) {
      for (const ColorDepth depth : kDepths)
        EXPECT_FALSE(render_heatmap(labelled_map(n, n), {depth, width}).empty());
    }
  }
}

TEST(HeatmapTerminal, SpecialValuesInEveryForm) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  Heatmap map = love();
  map.values = {-inf, inf, std::nan(""), 0, 1, -0.0, 1e300, -1e300, 0, 0, 0, 0, 1, 1, 1, 1};
  map.range = {0, 1};
  for (const ColorDepth depth : kDepths) {
    for (const int width : {20, 40, 100}) {
      const std::string text = without_styles(render_heatmap(map, {depth, width}));
      EXPECT_LE(widest_line(text), width);
      EXPECT_NE(text.find(width == 100 ? "nan" : "?"), std::string::npos) << text;
    }
  }
  const std::string text = render_heatmap(map, plain(100));
  EXPECT_NE(text.find("-inf"), std::string::npos);
  EXPECT_EQ(text.find("-0 "), std::string::npos);
}

TEST(HeatmapTerminal, MaskedCells) {
  Heatmap map = love();
  map.values[1] = std::nan("");
  map.masked.assign(16, false);
  map.masked[1] = true;
  const std::string text = render_heatmap(map, plain(100));
  EXPECT_EQ(lines_of(text)[2], "       I    0.4754█        ·    0.1749░   0.1749░");
  map.masked.assign(16, true);
  for (const ColorDepth depth : kDepths) {
    for (const int width : {20, 40, 100}) {
      EXPECT_NE(render_heatmap(map, {depth, width}).find("·"), std::string::npos);
    }
  }
}

TEST(HeatmapTerminal, PointsAtTheRowInFocus) {
  Heatmap map = love();
  map.focus_row = 1;
  map.row_title = "query";
  map.value_label = "weight";
  const auto lines = lines_of(render_heatmap(map, plain(100)));
  EXPECT_EQ(lines[1], "rows: query, colours: weight");
  EXPECT_EQ(lines[4], "    love▸   0.1749░   0.4754█   0.1749░   0.1749░");
  EXPECT_NE(render_heatmap(map, plain(20)).find("love▸░░██"), std::string::npos) << "squares";
  Heatmap large = labelled_map(400, 400);
  large.row_labels.clear();
  large.focus_row = 399;
  const auto pooled = lines_of(without_styles(render_heatmap(large, {ColorDepth::truecolor, 60})));
  EXPECT_NE(pooled[pooled.size() - 4].find("▸"), std::string::npos) << "above blank, legend and note";
}

TEST(HeatmapTerminal, Empty) {
  EXPECT_EQ(render_heatmap({}, plain(80)), "0 x 0, empty\n");
  EXPECT_EQ(render_heatmap(labelled_map(0, 3), plain(80)), "0 x 3, empty\n");
  EXPECT_EQ(render_heatmap(labelled_map(3, 0), plain(80)), "3 x 0, empty\n");
}

TEST(HeatmapTerminal, AllEqualValues) {
  Heatmap map = love();
  map.values.assign(16, 0.25);
  map.range = range_of(map);
  EXPECT_EQ(lines_of(render_heatmap(map, plain(100)))[2],
            "       I      0.25▒     0.25▒     0.25▒     0.25▒");
}

TEST(HeatmapTerminal, HalfBlocksShareALine) {
  const std::string text =
      without_styles(render_heatmap(labelled_map(31, 31, "t"), {ColorDepth::truecolor, 50}));
  EXPECT_EQ(lines_of(text)[1].substr(0, 8), " 0 t0 t1") << text;
  EXPECT_EQ(lines_of(text).size(), 1u + 16u + 2u) << "ruler, pairs of rows, legend";
}

TEST(HeatmapTerminal, TokensCannotDriveTheTerminal) {
  for (const std::size_t n : {2, 20, 60}) {
    Heatmap map = labelled_map(n, n, "\x1b[2J\n\u202E");
    map.title = "\x1b]0;owned\x07";
    for (const int width : {40, 100}) EXPECT_TRUE(is_tame(render_heatmap(map, plain(width))));
  }
}

}  // namespace
}  // namespace attend::draw
