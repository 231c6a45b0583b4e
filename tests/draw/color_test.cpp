#include "draw/color.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "draw/style.h"

namespace attend::draw {
namespace {

TEST(Color, LightnessAloneOrdersTheScale) {
  for (int i = 1; i <= 100; ++i) {
    EXPECT_GT(luminance(scale_color(i / 100.0)), luminance(scale_color((i - 1) / 100.0))) << i;
  }
  for (int i = 1; i <= 1000; ++i) {
    EXPECT_GE(luminance(scale_color_xterm256(i / 1000.0)), luminance(scale_color_xterm256((i - 1) / 1000.0)))
        << i;
  }
}

TEST(Color, OnPaperInkStandsForWeight) {
  for (int i = 1; i <= 100; ++i) {
    EXPECT_LT(luminance(paper_color(i / 100.0)), luminance(paper_color((i - 1) / 100.0))) << i;
  }
  EXPECT_LT(contrast(paper_color(0), {255, 255, 255}), 1.1) << "nothing fades into the page";
  EXPECT_GT(contrast(paper_color(1), {255, 255, 255}), 14);
}

TEST(Color, EveryCellCarriesReadableText) {
  for (const ColorDepth depth : {ColorDepth::ansi256, ColorDepth::truecolor}) {
    for (int i = 0; i <= 1000; ++i) {
      const Style style = cell_style(i / 1000.0, depth);
      EXPECT_GE(contrast(*style.text, *style.background), 4.5) << i;
    }
  }
}

TEST(Color, TheScaleHasEnds) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(scale_color(-inf), scale_color(0));
  EXPECT_EQ(scale_color(-0.1), scale_color(0));
  EXPECT_EQ(scale_color(inf), scale_color(1));
  EXPECT_EQ(scale_color(std::nan("")), scale_color(0));
  EXPECT_EQ(cell_style(2, ColorDepth::truecolor), cell_style(1, ColorDepth::truecolor));
}

TEST(Color, ContrastIsThatOfWcag) {
  EXPECT_NEAR(contrast({0, 0, 0}, {255, 255, 255}), 21, 1e-9);
  EXPECT_NEAR(contrast({119, 119, 119}, {255, 255, 255}), 4.48, 0.01);
  EXPECT_EQ(text_color_on({255, 255, 0}), (Rgb{0, 0, 0}));
  EXPECT_EQ(text_color_on({0, 0, 128}), (Rgb{255, 255, 255}));
}

TEST(Color, EveryPaletteColourIsItsOwnNearest) {
  for (int i = 16; i < 256; ++i) EXPECT_EQ(nearest_xterm256(xterm256_color(i)), i);
  EXPECT_EQ(nearest_xterm256({250, 2, 3}), 196);
  EXPECT_EQ(nearest_xterm256({128, 128, 128}), 244);
}

TEST(Style, WritesOnlyWhatChanges) {
  const Style style{.emphasis = Emphasis::bold};
  EXPECT_EQ(StyledLine(ColorDepth::truecolor).add("a", style).add("b", style).finish(),
            "\x1b[0;1mab\x1b[0m\n");
  EXPECT_EQ(StyledLine(ColorDepth::none).add("a", style).add("  ").finish(), "a\n");
  EXPECT_EQ(styled("x", {.text = Rgb{1, 2, 3}}, ColorDepth::truecolor), "\x1b[0;38;2;1;2;3mx\x1b[0m");
  EXPECT_EQ(styled("x", {.background = Rgb{255, 0, 0}}, ColorDepth::ansi256), "\x1b[0;48;5;196mx\x1b[0m");
  EXPECT_EQ(styled("x", style, ColorDepth::none), "x");
}

}  // namespace
}  // namespace attend::draw
