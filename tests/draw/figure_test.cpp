#include "draw/figure.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "draw/figure_json.h"
#include "support/figures.h"
#include "support/not_finite.h"
#include "support/refuses.h"

namespace attend::draw {
namespace {

TEST(FigureJson, TheSameBytesAsEver) {
  Figure figure;
  figure.title = "T";
  Heatmap map;
  map.rows = 1;
  map.columns = 4;
  map.column_labels = {"a", "\xff", "ع", "\""};
  map.values = {0.1, kInf, std::nan(""), 7};
  map.masked = {false, false, false, true};
  map.value_label = "weight";
  map.focus_row = 0;
  HeadView view;
  view.left = view.right = {"x", "y"};
  view.links = {{0, 1, 0.25, 0}, {1, 0, 0.75, 2}};
  view.strongest = 1;
  ModelView model;
  model.layers = model.heads = 1;
  model.maps = {Heatmap{}};
  Bars bars{"b", {{"one", 1, true}, {"two", -2.5, false}}, 3};
  Plot plot{"p", {"x", AxisScale::log2}, {"", AxisScale::linear}, {{"s", {1, 2}, {3, 4}}}};
  figure.parts = {map, view, model, bars, plot, FilmStrip{"f", {}, {0, 2}, ""}};
  figure.notes = {"n"};
  EXPECT_EQ(
      figure_json(figure),
      R"({"title":"T","parts":[)"
      R"({"kind":"heatmap","rows":1,"columns":4,"value_label":"weight","column_labels":["a","�","ع","\""],)"
      R"("focus_row":0,"range":[0.0,1.0],"values":[[0.1,"inf","nan",null]]},)"
      R"({"kind":"head view","left":["x","y"],"right":["x","y"],"full_weight":0.75,"strongest":1,)"
      R"("links":[{"from":0,"to":1,"weight":0.25},{"from":1,"to":0,"weight":0.75,"series":2}]},)"
      R"({"kind":"model view","layers":1,"heads":1,)"
      R"("maps":[{"kind":"heatmap","rows":0,"columns":0,"range":[0.0,1.0],"values":[]}]},)"
      R"({"kind":"bars","title":"b","full_length":3.0,)"
      R"("bars":[{"label":"one","value":1.0,"emphasised":true},{"label":"two","value":-2.5}]},)"
      R"({"kind":"plot","title":"p","x":{"label":"x","scale":"log2"},"y":{"scale":"linear"},)"
      R"("series":[{"name":"s","x":[1.0,2.0],"y":[3.0,4.0]}]},)"
      R"({"kind":"film strip","title":"f","range":[0.0,2.0],"frames":[]}],"notes":["n"]})");
}

TEST(FigureJson, FewerDigitsWhenAsked) {
  Figure figure;
  figure.parts = {Bars{"", {{"a", 0.123456789, false}, {"b", 1e-9 / 3, false}, {"c", 0, false}}, 0}};
  EXPECT_EQ(figure_json(figure, 3), R"({"parts":[{"kind":"bars","bars":[{"label":"a","value":0.123},)"
                                    R"({"label":"b","value":3.33e-10},{"label":"c","value":0.0}]}]})");
}

TEST(Figure, RefusesPartsThatContradictThemselves) {
  const auto refused = [](Part part) {
    Figure figure;
    figure.parts = {std::move(part)};
    return figure_json(figure);
  };
  HeadView view = head_view_of({"a", "b"});
  view.links.push_back({0, 2, 1, 0});
  EXPECT_REFUSES(refused(view), "[head view] a line from token 0 to token 2, but there are 2 and 2 tokens");
  view = head_view_of({"a", "b"});
  view.focus = 2;
  EXPECT_REFUSES(refused(view), "[head view] token 2 in focus, of 2 tokens");
  ModelView model = model_view_of(2, 3, 4);
  model.maps.pop_back();
  EXPECT_REFUSES(refused(model), "[model view] 5 maps for 2 layers of 3 heads");
  model = model_view_of(2, 3, 4);
  model.head_labels = {"a"};
  EXPECT_REFUSES(refused(model), "[model view] 1 head labels for 3 heads");
  model = model_view_of(2, 3, 4);
  model.group = 2;
  EXPECT_REFUSES(refused(model), "[model view] 3 heads in groups of 2");
  FilmStrip strip = film_strip_of({"a", "b"}, 2);
  strip.frames[1].values.pop_back();
  EXPECT_REFUSES(refused(strip), "[heatmap] 3 values for 2 x 2 cells");
  Heatmap map = heatmap_of({"a", "b"});
  map.focus_row = 2;
  EXPECT_REFUSES(refused(map), "[heatmap] row 2 in focus, of 2 rows");
}

TEST(HeadView, StrongestLinksOfEachRow) {
  const double nan = std::nan("");
  const std::vector<double> weights{0.2, 0.5, 0.3, 0.4,  // the second and third are kept
                                    nan, 0,   -1,  kInf};
  EXPECT_EQ(strongest_links(weights, 4, 2), (std::vector<Link>{{0, 1, 0.5, 0}, {0, 3, 0.4, 0}}));
  EXPECT_EQ(strongest_links(weights, 4, 0).size(), 4u);
  EXPECT_EQ(strongest_links(std::vector<double>{1, 1, 1}, 3, 2),
            (std::vector<Link>{{0, 0, 1, 0}, {0, 1, 1, 0}}))
      << "of equal ones the first";
  EXPECT_TRUE(strongest_links({}, 0, 3).empty());
  EXPECT_REFUSES(strongest_links(weights, 3, 1), "[head view] 8 weights are not a whole number of rows of 3");
}

TEST(HeadView, TheStrongestLineIsNeverZero) {
  HeadView view;
  EXPECT_EQ(full_weight(view), 1);
  view.left = view.right = {"a"};
  view.links = {{0, 0, std::nan(""), 0}, {0, 0, 0.25, 0}, {0, 0, kInf, 0}};
  EXPECT_EQ(full_weight(view), 0.25);
  EXPECT_EQ(drawn_links(view).size(), 1u);
}

TEST(ModelView, KnowsWhetherOneLegendServesAll) {
  ModelView view = model_view_of(1, 3, 2);
  view.maps[0] = Heatmap{};
  view.maps[0].range = {5, 6};
  EXPECT_TRUE(share_a_scale(view.maps)) << "a blank map has no say";
  view.maps[2].range = {0, 2};
  EXPECT_FALSE(share_a_scale(view.maps));
}

}  // namespace
}  // namespace attend::draw
