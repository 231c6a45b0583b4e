#include "draw/page/svg.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "draw/page/fit_text.h"
#include "draw/page/png.h"
#include "draw/text_width.h"
#include "support/figures.h"
#include "support/xml.h"

namespace attend::draw {
namespace {

TEST(Xml, TheCheckItselfFindsWhatIsWrong) {
  EXPECT_EQ(xml_error("<a b=\"1\"><c/>x &amp; y</a>\n"), "");
  for (const char* bad : {"<a>", "<a></b>", "<a b=1/>", "<a b=\"1\" b=\"2\"/>", "<a>&x</a>", "<a/><a/>",
                          "<a>\x01</a>", "", "x<a/>", "<a", "<a b=\"<\"/>"}) {
    EXPECT_NE(xml_error(bad), "") << bad;
  }
}

TEST(Svg, ShapesAsTheyAreWritten) {
  Scene scene{"t & t", 100, 50.5, {}};
  scene.shapes = {Rect{{0, 0.25}, 10, 5, Ink{{255, 0, 16}, 0.5}, Stroke{{{1, 2, 3}}, 0.6}, 2},
                  Line{{1, 2}, {3, 4}, {{{0, 0, 0}, 0.25}, 1}},
                  Path{{{PathStep::Kind::move, {1, 1}},
                        {PathStep::Kind::line, {2, 2}},
                        {PathStep::Kind::curve, {5, 5}, {3, 3}, {4, 4}}},
                       {},
                       Stroke{{{9, 9, 9}}, 2}},
                  Text{"<b>", {10, 20}, Anchor::end, -90, {8.5, true}, {{0, 0, 0}}, 12}};
  EXPECT_EQ(
      paint_svg(scene),
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"100\" height=\"50.5\" viewBox=\"0 0 100 50.5\" "
      "role=\"img\" "
      "font-family=\"Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif\" "
      "xml:space=\"preserve\">\n"
      "<title>t &amp; t</title>\n"
      "<rect x=\"0\" y=\"0.25\" width=\"10\" height=\"5\" rx=\"2\" fill=\"#ff0010\" fill-opacity=\"0.5\" "
      "stroke=\"#010203\" stroke-width=\"0.6\"/>\n"
      "<line x1=\"1\" y1=\"2\" x2=\"3\" y2=\"4\" stroke=\"#000000\" stroke-width=\"1\" "
      "stroke-opacity=\"0.25\"/>\n"
      "<path d=\"M1 1L2 2C3 3 4 4 5 5\" fill=\"none\" stroke=\"#090909\" stroke-width=\"2\"/>\n"
      "<text x=\"10\" y=\"20\" font-size=\"8.5\" fill=\"#000000\" font-weight=\"bold\" text-anchor=\"end\" "
      "transform=\"rotate(-90 10 20)\">&lt;b&gt;</text>\n"
      "</svg>\n");
}

TEST(Svg, IsWellFormedWhateverTheLabels) {
  for (const auto& tokens : {english_tokens(12), chinese_tokens(40), arabic_tokens(70), hostile_labels()}) {
    Figure figure = everything(tokens);
    figure.title = tokens[2 % tokens.size()] + tokens[3 % tokens.size()];
    const std::string svg = figure_svg(figure);
    EXPECT_EQ(xml_error(svg), "");
    EXPECT_EQ(svg.find("<script"), svg.npos);
    EXPECT_EQ(svg, figure_svg(figure)) << "the same bytes again";
  }
}

// To regenerate it, run this test with ATTEND_WRITE_GOLDEN=1, and look at the result.
TEST(Svg, ThePictureInTheDocumentsIsWhatIsDrawn) {
  const std::string path = DOCS_IMAGES "/figure-parts.svg";
  const std::string svg = figure_svg(everything(english_tokens(10)));
  if (std::getenv("ATTEND_WRITE_GOLDEN") != nullptr) std::ofstream(path, std::ios::binary) << svg;
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(std::string(std::istreambuf_iterator<char>(file), {}) == svg) << path;
}

TEST(Svg, CellsAreAnImageInsideTheFile) {
  CellImage image{{0, 0}, 20, 10, 2, 1, {0, kMaskedCell}};
  const std::string svg = paint_svg({"", 20, 10, {image}});
  EXPECT_NE(svg.find("image-rendering:pixelated\" href=\"data:image/png;base64,iVBORw0KGgo"), svg.npos);
  const std::string png = cells_png(image);
  EXPECT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1a\n");
  EXPECT_EQ(png.substr(png.size() - 12), std::string("\0\0\0\0IEND\xae\x42\x60\x82", 12))
      << "the checksum all PNG end in";
}

TEST(FitText, CutsBetweenCharacters) {
  const UsualFonts fonts;
  const Font font{10};
  EXPECT_EQ(fitted("animal", 1000, font, fonts), "animal");
  const std::string cut = fitted("internationalization", 60, font, fonts);
  EXPECT_LE(fonts.width(cut, font), 60);
  EXPECT_TRUE(cut.starts_with("interna") && cut.ends_with("…")) << cut;
  EXPECT_EQ(fitted("animal", 1, font, fonts), "");
  EXPECT_EQ(fitted("👩‍👩‍👧‍👦👩‍👩‍👧‍👦", 25, font, fonts),
            "👩‍👩‍👧‍👦…\u200E");
}

TEST(FitText, BreaksLines) {
  const UsualFonts fonts;
  const Font font{10};
  EXPECT_EQ(broken("one two three", 1000, font, fonts), (std::vector<std::string>{"one two three"}));
  for (const std::string& line : broken(std::string(300, 'w') + " and some words", 100, font, fonts))
    EXPECT_LE(fonts.width(line, font), 100);
  const auto lines = broken(std::string(3000, 'w'), 100, font, fonts, 3);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_TRUE(lines.back().ends_with("…"));
  EXPECT_TRUE(broken("", 100, font, fonts).empty());
}

TEST(FitText, LabelsOfAnyLengthAreCutBeforeTheyAreMeasured) {
  const std::string label = drawable(std::string(10'000'000, 'w'));
  EXPECT_LE(text_width(label), 2000);
  EXPECT_TRUE(label.ends_with("…"));
  std::string wide;
  for (int i = 0; i < 5000; ++i) wide += "注";
  EXPECT_EQ(drawable(wide).find("\uFFFD"), std::string::npos) << "not cut inside a character";
}

}  // namespace
}  // namespace attend::draw
