#include "draw/figure_terminal.h"
#include "draw/prose.h"

#include <gtest/gtest.h>

#include "draw/head_view_terminal.h"
#include "draw/thumbnails_terminal.h"
#include "support/figures.h"
#include "support/lines.h"
#include "support/plain_terminal.h"
#include "support/sanitized.h"

namespace attend::draw {
namespace {

constexpr ColorDepth kFigureDepths[] = {ColorDepth::none, ColorDepth::ansi256, ColorDepth::truecolor};

TEST(HeadViewTerminal, EachTokenWithWhatItLooksAt) {
  HeadView view;
  view.title = "Head 1";
  view.left_title = "from";
  view.right_title = "to";
  view.left = {"it", "was"};
  view.right = {"animal", "street"};
  view.links = {{0, 1, 0.25, 0}, {0, 0, 0.5, 0}, {1, 1, 0.125, 0}, {1, 0, 0.125, 0}};
  EXPECT_EQ(render_head_view(view, plain(60)),
            "Head 1\n"
            "from → to\n"
            " it  animal 0.50█ street 0.25▒\n"
            "was  street 0.12░ animal 0.12░\n");
  view.right[0] = "ox";
  EXPECT_EQ(lines_of(render_head_view(view, plain(60)))[2], " it  ox 0.50█     street 0.25▒") << "in columns";
  view.focus = 0;
  EXPECT_EQ(render_head_view(view, plain(40)),
            "Head 1\n"
            "from → to\n"
            "where “it” looks\n"
            "ox      0.50  ██████████████████████████\n"
            "street  0.25  █████████████\n");
}

TEST(HeadViewTerminal, LeavesOutTheMiddleAndSaysSo) {
  const auto lines = lines_of(render_head_view(head_view_of(english_tokens(400)), plain(80), 10));
  EXPECT_EQ(lines.size(), 3u + 10u + 1u);
  EXPECT_EQ(lines[8], "⋮ 390 tokens are not shown");
}

TEST(ModelViewTerminal, LayersDownwardsHeadsToTheRight) {
  ModelView view;
  view.layers = view.heads = 2;
  for (int i = 0; i < 4; ++i) {
    Heatmap map;
    map.rows = map.columns = 2;
    map.values = {1, 0, 0.5, 1};
    view.maps.push_back(map);
  }
  view.maps[3] = Heatmap{};
  view.maps[0].title = "same";
  EXPECT_EQ(render_model_view(view, plain(24)),
            "layers from top to bott…\n"
            "      1    2\n"
            "1     █    █\n"
            "      ▒█   ▒█\n"
            "      same\n"
            "\n"
            "2     █\n"
            "      ▒█\n"
            "\n"
            "      0   ░░▒▒▓▓██ 1\n");
}

TEST(ModelViewTerminal, LinesStandBetweenHeadsThatShareNoKeys) {
  ModelView view = model_view_of(1, 4, 2);
  view.group = 2;
  const auto lines = lines_of(render_model_view(view, plain(80)));
  EXPECT_EQ(lines[2], "heads between two lines share keys and values, 2 each");
  EXPECT_EQ(std::count(lines[4].begin(), lines[4].end(), '\x82'), 1) << lines[4];  // the last byte of │
  EXPECT_NE(lines[4].find("│"), std::string::npos);
}

TEST(FilmStripTerminal, FramesWithCaptions) {
  const auto lines = lines_of(render_film_strip(film_strip_of(english_tokens(4), 3), plain(60)));
  EXPECT_EQ(lines[0], "Layer by layer");
  EXPECT_EQ(lines[1], "colours: weight");
  EXPECT_EQ(lines[2], "layer 0 layer 1 layer 2");
}

TEST(FigureTerminal, PartsBetweenTitleAndNotes) {
  Figure figure;
  figure.title = "Title";
  figure.parts = {Bars{"one", {{"a", 1, false}}, 0}, Bars{"two", {{"b", 1, false}}, 0}};
  figure.notes = {"Words that are longer than one line."};
  EXPECT_EQ(render_figure(figure, plain(20)),
            "Title\n\n"
            "one\na  1  ██████████████\n\n"
            "two\nb  1  ██████████████\n\n"
            "Words that are\nlonger than one\nline.\n");
  EXPECT_EQ(render_figure({}, plain(20)), "");
}

TEST(FigureTerminal, EveryLineFits) {
  for (const std::size_t n : {1, 4, 40, 130}) {
    for (const auto& tokens : {english_tokens(n), chinese_tokens(n), arabic_tokens(n)}) {
      const Figure figure = everything(tokens);
      for (int width = 20; width <= 200; width += kSanitized ? 180 : 60) {
        for (const ColorDepth depth : kFigureDepths)
          EXPECT_LE(widest_line(render_figure(figure, {depth, width})), width) << n;
      }
    }
  }
}

TEST(FigureTerminal, ManyHeadsTakeSeveralLines) {
  for (const int width : {20, 80}) {
    for (const ColorDepth depth : kFigureDepths)
      EXPECT_LE(widest_line(render_model_view(model_view_of(2, 32, 9), {depth, width})), width);
  }
}

TEST(FigureTerminal, LabelsCannotDriveTheTerminal) {
  Figure figure = everything(hostile_labels());
  figure.title = figure.notes[0] = hostile_labels()[1] + hostile_labels()[2];
  for (const ColorDepth depth : kFigureDepths) {
    for (const int width : {20, 100}) {
      const std::string text = render_figure(figure, {depth, width});
      EXPECT_TRUE(is_tame(text));
      EXPECT_LE(widest_line(text), width);
    }
  }
}

TEST(FigureTerminal, EmptyParts) {
  Figure figure;
  figure.parts = {Heatmap{}, HeadView{}, ModelView{}, Bars{}, Plot{}, FilmStrip{}};
  EXPECT_LE(widest_line(render_figure(figure, plain(40))), 40);
}

TEST(Wrap, BreaksBetweenWordsAndInsideLongOnes) {
  EXPECT_EQ(wrap("one two three", 7), "one two\nthree\n");
  EXPECT_EQ(wrap("abcdefgh", 3), "abc\ndef\ngh\n");
  EXPECT_EQ(wrap("注意力机制", 4), "注意\n力机\n制\n");
  EXPECT_EQ(wrap("", 4), "");
}

}  // namespace
}  // namespace attend::draw
