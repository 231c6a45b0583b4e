#include <gtest/gtest.h>

#include "draw/page/svg.h"
#include "draw_cairo/render_page.h"
#include "support/figures.h"
#include "support/refuses.h"

namespace attend::draw {
namespace {

TEST(NoCairo, WritesSvgAndRefusesTheRestInOneSentence) {
  EXPECT_FALSE(has_cairo());
  const Figure figure = everything(english_tokens(5));
  EXPECT_EQ(render_page(figure, PageFormat::svg).bytes, figure_svg(figure));
  for (const PageFormat format : {PageFormat::png, PageFormat::pdf}) {
    EXPECT_REFUSES(
        render_page(figure, format),
        "[figure] this attend was built without Cairo and Pango: it writes SVG, but not PNG or PDF");
  }
}

TEST(NoCairo, FormatsByExtension) {
  EXPECT_EQ(page_format_of("a/b.svg"), PageFormat::svg);
  EXPECT_EQ(page_format_of("b.PNG"), PageFormat::png);
  EXPECT_EQ(page_format_of("b.x.Pdf"), PageFormat::pdf);
  for (const char* name : {"b", "b.gif", "svg", ".svg", ""}) EXPECT_FALSE(page_format_of(name)) << name;
}

}  // namespace
}  // namespace attend::draw
