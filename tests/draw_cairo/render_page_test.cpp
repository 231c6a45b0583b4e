#include "draw_cairo/render_page.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>

#include "draw/page/png.h"
#include "draw/page/svg.h"
#include "draw_cairo/pango_text.h"
#include "support/boxes.h"
#include "support/figures.h"
#include "support/raster.h"
#include "support/refuses.h"
#include "support/sanitized.h"
#include "support/xml.h"

namespace attend::draw {
namespace {

constexpr PageFormat kFormats[] = {PageFormat::svg, PageFormat::png, PageFormat::pdf};

TEST(RenderPage, TheSameBytesEveryTime) {
  const Figure figure = everything(english_tokens(5));
  for (const PageFormat format : kFormats) {
    const std::string bytes = render_page(figure, format, {{}, 1}).bytes;
    render_page(everything(arabic_tokens(3)), format, {{}, 0.5});  // must not affect the ids of later files
    EXPECT_TRUE(render_page(figure, format, {{}, 1}).bytes == bytes) << static_cast<int>(format);
  }
}

TEST(RenderPage, EachFormatIsWhatItSays) {
  const Figure figure = everything(english_tokens(5));
  EXPECT_EQ(xml_error(render_page(figure, PageFormat::svg).bytes), "");
  const std::string pdf = render_page(figure, PageFormat::pdf).bytes;
  EXPECT_TRUE(pdf.starts_with("%PDF-"));
  EXPECT_NE(pdf.find("%%EOF"), pdf.npos);
  EXPECT_NE(pdf.find("/CreationDate (19700101"), pdf.npos);
  PangoText text;
  const Scene scene = layout(figure, text);
  for (const double scale : {0.5, 1.0}) {
    const Raster raster = decoded(render_page(figure, PageFormat::png, {{}, scale}).bytes);
    EXPECT_EQ(raster.width, std::ceil(scene.width * scale));
    EXPECT_EQ(raster.height, std::ceil(scene.height * scale));
  }
}

// Of separate cells and of an image alike.
TEST(RenderPage, CellsHaveTheColoursOfTheScale) {
  for (const std::size_t n : {3, 35}) {
    Heatmap map;
    map.rows = map.columns = n;
    for (std::size_t i = 0; i < n * n; ++i) map.values.push_back(static_cast<double>(i * 7 % 11) / 10);
    map.masked.assign(n * n, false);
    map.masked[2] = true;
    map.values[1] = std::nan("");
    Figure figure;
    figure.parts = {map};
    PangoText text;
    const Scene scene = layout(figure, text);
    const Raster raster = decoded(render_page(figure, PageFormat::png).bytes);
    Point at;
    double pitch = 0;
    for (const Shape& shape : scene.shapes) {
      const auto* rect =
          std::get_if<Rect>(&shape);  // the frame around the cells is the widest without a fill
      if (rect == nullptr || rect->fill || rect->width <= pitch * static_cast<double>(n)) continue;
      at = rect->at;
      pitch = rect->width / static_cast<double>(n);
    }
    ASSERT_GT(pitch, 8);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        // Near a corner of the cell, where there is no number.
        const auto x = static_cast<int>(2 * (at.x + (static_cast<double>(j) + 0.15) * pitch));
        const auto y = static_cast<int>(2 * (at.y + (static_cast<double>(i) + 0.15) * pitch));
        const std::uint8_t cell = map.is_masked(i, j) ? kMaskedCell : cell_at(map.at(i, j));
        EXPECT_EQ(raster.at(x, y), cell_palette()[cell]) << i << " " << j << " of " << n;
      }
    }
  }
}

TEST(RenderPage, OurOwnPngSaysTheSame) {
  CellImage image{{0, 0}, 3, 2, 3, 2, {0, 100, kLastStep, kMaskedCell, kNanCell, 7}};
  const Raster raster = decoded(cells_png(image));
  ASSERT_EQ(raster.width, 3);
  ASSERT_EQ(raster.height, 2);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(raster.pixels[i], cell_palette()[image.cells[i]]) << i;
  image = {{0, 0}, 300, 300, 300, 300, std::vector<std::uint8_t>(300 * 300, 42)};
  EXPECT_EQ(decoded(cells_png(image)).at(299, 299), cell_palette()[42]) << "more than one block";
}

TEST(RenderPage, LabelsNeitherTouchNorLeaveThePage) {
  const std::vector<std::size_t> sizes =
      kSanitized ? std::vector<std::size_t>{4} : std::vector<std::size_t>{4, 40, 400};
  for (const std::size_t n : sizes) {
    for (const auto& tokens : {english_tokens(n), chinese_tokens(n), arabic_tokens(n)}) {
      PangoText text;
      const Scene page = layout(everything(tokens), text);
      EXPECT_EQ(touching_texts(page), "") << n;
      EXPECT_EQ(text_off_the_page(page), "") << n;
      EXPECT_LE(page.width, 800);
    }
  }
}

TEST(RenderPage, HostileLabels) {
  Figure figure = everything(hostile_labels());
  figure.title = hostile_labels()[3] + hostile_labels()[1];
  figure.notes = hostile_labels();
  for (const PageFormat format : kFormats) EXPECT_FALSE(render_page(figure, format, {{}, 0.5}).bytes.empty());
}

TEST(RenderPage, SaysWhichCharactersNoFontHas) {
  Figure figure;
  figure.parts = {Bars{"", {{"a \U0010FFFD", 1, false}}, 0}};  // private use: no font has it
  const auto notes = render_page(figure, PageFormat::png).notes;
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0],
            "no font on this machine has \U0010FFFD: they are drawn as boxes (Debian's package "
            "fonts-noto-core has "
            "such fonts)");
  figure.parts = {Bars{"", {{"a", 1, false}}, 0}};
  EXPECT_TRUE(render_page(figure, PageFormat::png).notes.empty());
}

TEST(MissingCharacters, OneSentenceForEachKindOfFont) {
  MissingCharacters missing;
  EXPECT_TRUE(missing.notes().empty());
  for (std::uint32_t character = 0x4E00; character < 0x4E0B; ++character) missing.add(character);
  missing.add(0x1F600);
  const auto notes = missing.notes();
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_NE(notes[0].find("一 丁 丂 七 丄 丅 丆 万 and 3 more characters"), std::string::npos) << notes[0];
  EXPECT_NE(notes[0].find("fonts-noto-cjk"), std::string::npos);
  EXPECT_NE(notes[1].find("fonts-noto-color-emoji"), std::string::npos);
}

TEST(RenderPage, LettersJoinAndTurnAsTheirScriptAsks) {
  const PangoText text;
  // Joined, Arabic letters take other shapes than each alone.
  const double joined = text.width("لأنه", {10});
  double alone = 0;
  for (const char* letter : {"ل", "أ", "ن", "ه"}) alone += text.width(letter, {10});
  EXPECT_LT(joined, 0.9 * alone);
  EXPECT_GT(text.width("w", {10, true}), text.width("w", {10}));
  EXPECT_NEAR(text.width("width", {20}), 2 * text.width("width", {10}), 0.05) << "not rounded to pixels";
}

TEST(RenderPage, Refuses) {
  const Figure figure = everything(english_tokens(4));
  EXPECT_REFUSES(render_page(figure, PageFormat::png, {{}, 0}), "[figure] a scale of 0, not from 0.1 to 16");
  EXPECT_REFUSES(render_page(figure, PageFormat::png, {{}, std::nan("")}), "[figure] a scale of nan");
  Figure tall;
  tall.parts.assign(20, head_view_of(english_tokens(100)));
  EXPECT_REFUSES(render_page(tall, PageFormat::png, {{}, 16}),
                 "pixels is too large; a smaller scale or SVG will do");
}

TEST(RenderPage, AnSvgHoldsItsLettersAsText) {
  const Figure figure = everything(english_tokens(5));
  const RenderedPage page = render_page(figure, PageFormat::svg);
  EXPECT_NE(page.bytes.find("<title>What “it” looks at</title>"), std::string::npos);
  EXPECT_NE(page.bytes.find(">animal</text>"), std::string::npos);
  EXPECT_EQ(page.bytes.find("glyph"), std::string::npos);
  EXPECT_EQ(page.bytes, figure_svg(figure));
}

// To regenerate it, run this test with ATTEND_WRITE_GOLDEN=1, and look at the result.
TEST(RenderPage, LooksAsItDid) {
  const std::string path = std::string(GOLDEN_FIGURES) + "/everything.png";
  const std::string png = render_page(everything(english_tokens(10)), PageFormat::png, {{}, 0.5}).bytes;
  if (std::getenv("ATTEND_WRITE_GOLDEN") != nullptr) std::ofstream(path, std::ios::binary) << png;
  std::ifstream file(path, std::ios::binary);
  const std::string golden(std::istreambuf_iterator<char>(file), {});
  PangoText text;
  const double width = text.width("Attention weights", {10});
  if (std::abs(width - 88.26) > 0.01)
    GTEST_SKIP() << "the fonts of this machine are not those of the picture: " << width;
  EXPECT_LT(difference(decoded(png), decoded(golden)), 0.01);
  const std::string other = render_page(everything(english_tokens(9)), PageFormat::png, {{}, 0.5}).bytes;
  EXPECT_GT(difference(decoded(png), decoded(other)), 0.01) << "the comparison sees a difference";
}

}  // namespace
}  // namespace attend::draw
