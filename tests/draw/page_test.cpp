#include "draw/page/layout.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/boxes.h"
#include "support/figures.h"
#include "support/refuses.h"
#include "support/sanitized.h"

namespace attend::draw {
namespace {

Scene page_of(Part part, PageOptions options = {}) {
  Figure figure;
  figure.title = "A title";
  figure.parts = {std::move(part)};
  figure.notes = {"A note."};
  return layout(figure, UsualFonts(), options);
}

std::vector<Part> parts_of(const std::vector<std::string>& tokens) {
  std::vector<Part> parts = everything(tokens).parts;
  Heatmap focused = heatmap_of(tokens);
  focused.focus_row = tokens.size() / 2;
  parts.push_back(focused);
  HeadView view = head_view_of(tokens, 5);
  view.focus = tokens.size() / 2;
  view.series = {"head 1", "head 2"};
  parts.push_back(view);
  return parts;
}

TEST(Page, LabelsNeitherTouchNorLeaveThePage) {
  const std::vector<std::size_t> sizes =
      kSanitized ? std::vector<std::size_t>{1, 40}
                 : std::vector<std::size_t>{1, 2, 4, 7, 12, 19, 27, 40, 61, 75, 130, 400};
  for (const std::size_t n : sizes) {
    for (const auto& tokens : {english_tokens(n), chinese_tokens(n), arabic_tokens(n)}) {
      for (const Part& part : parts_of(tokens)) {
        for (const double width : {400.0, 800.0}) {
          const Scene page = page_of(part, {width});
          EXPECT_EQ(touching_texts(page), "")
              << n << " tokens, part " << part.index() << ", " << width << " wide";
          EXPECT_EQ(text_off_the_page(page), "") << n;
          EXPECT_LE(page.width, width) << n << " tokens, part " << part.index();
          EXPECT_LT(page.height, 1400);
        }
      }
    }
  }
}

TEST(Page, FewLabelsAreAllShownManyAreThinned) {
  Heatmap map = heatmap_of(english_tokens(4));
  EXPECT_TRUE(has_text(page_of(map), "animal"));
  map = heatmap_of(english_tokens(40));
  EXPECT_EQ(texts_of(page_of(map)).size(), 80u + 3u + 3u + 4u) << "80 labels, titles and note, axes, ticks";
  map = heatmap_of(english_tokens(400));
  const Scene page = page_of(map);
  EXPECT_LT(texts_of(page).size(), 100u);
  EXPECT_TRUE(has_text(page, "50 .")) << "with their numbers";
  map.focus_row = 57;
  EXPECT_TRUE(has_text(page_of(map), "57 street")) << "the focus is always named";
}

TEST(Page, CellsCarryNumbersWhereTheyFit) {
  Heatmap map = heatmap_of(english_tokens(4));
  EXPECT_TRUE(has_text(page_of(map), "0.77"));
  EXPECT_FALSE(has_text(page_of(heatmap_of(english_tokens(40))), "0.25"));
  map.values[0] = std::nan("");
  EXPECT_TRUE(has_text(page_of(map), "nan"));
  EXPECT_TRUE(has_text(page_of(map), "not a number")) << "in the legend";
  map.masked.assign(16, false);
  map.masked[0] = true;
  EXPECT_FALSE(has_text(page_of(map), "nan"));
  EXPECT_TRUE(has_text(page_of(map), "masked"));
}

TEST(Page, ManyCellsAreOneImage) {
  const auto images = [](const Scene& page) {
    std::vector<CellImage> found;
    for (const Shape& shape : page.shapes) {
      if (const auto* image = std::get_if<CellImage>(&shape); image && image->columns > 1)
        found.push_back(*image);
    }
    return found;
  };
  EXPECT_TRUE(images(page_of(heatmap_of(english_tokens(30)))).empty());
  const auto large = images(page_of(heatmap_of(english_tokens(400))));
  ASSERT_EQ(large.size(), 1u);
  EXPECT_EQ(large[0].columns, 400u);
  EXPECT_EQ(large[0].width, 600) << "one and a half points a cell: whole pixels at twice the size";
  EXPECT_EQ(large[0].cells[0], kLastStep);
  EXPECT_EQ(images(page_of(model_view_of(2, 3, 20))).size(), 6u);
}

TEST(Page, HeadsThatShareKeysStandTogether) {
  ModelView view = model_view_of(2, 6, 20);
  EXPECT_FALSE(has_text(page_of(view), "keys 1"));
  view.group = 3;
  const Scene page = page_of(view);
  EXPECT_TRUE(has_text(page, "keys 1"));
  EXPECT_TRUE(has_text(page, "keys 2"));
  EXPECT_FALSE(has_text(page, "keys 3"));
  std::vector<double> left;
  for (const Shape& shape : page.shapes) {
    if (const auto* image = std::get_if<CellImage>(&shape); image && image->columns > 1)
      left.push_back(image->at.x);
  }
  ASSERT_GE(left.size(), 6u);
  EXPECT_GT(left[3] - left[2], left[1] - left[0] + 5) << "a gap between the groups";
  EXPECT_NEAR(left[2] - left[1], left[1] - left[0], 1e-9);
}

TEST(Page, LargeMapsArePooledAndSaySo) {
  Heatmap map;
  map.rows = 1300;
  map.columns = 1500;
  map.values.resize(1300 * 1500);
  map.values[777 * 1500 + 999] = 1;
  const Scene page = page_of(map);
  EXPECT_TRUE(has_text(page, "1300 x 1500 shown as 620 x 620, each cell the largest of its block."));
  bool strongest_is_there = false;
  for (const Shape& shape : page.shapes) {
    const auto* image = std::get_if<CellImage>(&shape);
    if (image == nullptr || image->columns != 620) continue;
    strongest_is_there = std::count(image->cells.begin(), image->cells.end(), kLastStep) == 1;
  }
  EXPECT_TRUE(strongest_is_there);
}

TEST(Page, LongMapsKeepRowsThatCanBeSeen) {
  for (const auto& [rows, columns] :
       {std::pair<std::size_t, std::size_t>{1, 400}, {400, 2}, {3, 40}, {2000, 1}}) {
    Heatmap map;
    map.rows = rows;
    map.columns = columns;
    map.values.assign(rows * columns, 0.5);
    const Scene page = page_of(map);
    EXPECT_EQ(touching_texts(page), "") << rows << " x " << columns;
    EXPECT_EQ(text_off_the_page(page), "");
    EXPECT_LE(page.width, 800);
  }
}

TEST(Page, StrongLinesAreWiderAndLieOnTop) {
  HeadView view;
  view.left = view.right = {"a", "b"};
  view.links = {{0, 0, 0.9, 0}, {0, 1, 0.1, 0}, {1, 0, std::nan(""), 0}};
  std::vector<Stroke> strokes;
  for (const Shape& shape : page_of(view).shapes) {
    if (const auto* path = std::get_if<Path>(&shape)) strokes.push_back(*path->outline);
  }
  ASSERT_EQ(strokes.size(), 2u);
  EXPECT_LT(strokes[0].width, strokes[1].width);
  EXPECT_LT(strokes[0].ink.opacity, strokes[1].ink.opacity);
}

TEST(Page, TheFocusShowsItsNumbers) {
  HeadView view = head_view_of(english_tokens(12));
  EXPECT_FALSE(has_text(page_of(view), "0.25"));
  view.focus = 7;
  EXPECT_TRUE(has_text(page_of(view), "0.25"));
}

TEST(Page, HostileLabels) {
  std::vector<std::string> labels = hostile_labels();
  for (const std::size_t copies : {1, 8}) {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < copies; ++i) all.insert(all.end(), labels.begin(), labels.end());
    for (const Part& part : parts_of(all)) {
      Figure figure;
      figure.title = labels[5];
      figure.notes = labels;
      figure.parts = {part};
      const Scene page = layout(figure, UsualFonts());
      EXPECT_EQ(touching_texts(page), "");
      EXPECT_EQ(text_off_the_page(page), "");
      EXPECT_LE(page.width, 800);
    }
  }
}

TEST(Page, AnyValues) {
  constexpr double most = std::numeric_limits<double>::max(), inf = std::numeric_limits<double>::infinity();
  for (const double value : {0.0, -1.0, most, -most, inf, -inf, std::nan(""), 5e-324}) {
    Heatmap map = heatmap_of({"a", "b"});
    map.values = {value, 1, -value, 0};
    map.range = range_of(map);
    Bars bars{"", {{"a", value, false}, {"b", 1, true}, {"c", -value, false}}, 0};
    Bars many = bars;
    many.bars.resize(100, {"x", value, false});
    Plot plot{"", {"x", AxisScale::log10}, {"y", AxisScale::linear}, {{"s", {1, 2, value}, {value, 1, 2}}}};
    for (const Part& part : {Part(map), Part(bars), Part(many), Part(plot)}) {
      const Scene page = page_of(part);
      EXPECT_EQ(text_off_the_page(page), "") << value;
      EXPECT_TRUE(std::isfinite(page.width) && std::isfinite(page.height)) << value;
      EXPECT_LE(page.width, 800) << value;
    }
  }
}

TEST(Page, EmptyParts) {
  Figure figure;
  EXPECT_GT(layout(figure, UsualFonts()).width, 0);
  figure.parts = {Heatmap{}, HeadView{}, ModelView{}, Bars{}, Plot{}, FilmStrip{}};
  const Scene page = layout(figure, UsualFonts());
  EXPECT_TRUE(has_text(page, "0 x 0, empty"));
  EXPECT_EQ(text_off_the_page(page), "");
}

TEST(Page, RefusesWhatIsNoPage) {
  EXPECT_REFUSES(page_of(Bars{}, {100}), "[figure] a page 100 wide, not from 200 to 4000");
  EXPECT_REFUSES(page_of(Bars{}, {std::nan("")}), "[figure] a page nan wide, not from 200 to 4000");
  HeadView view = head_view_of({"a"});
  view.links[0].to = 9;
  EXPECT_REFUSES(page_of(view), "[head view] a line from token 0 to token 9, but there are 1 and 1 tokens");
}

}  // namespace
}  // namespace attend::draw
