#include "draw/plot.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "draw/plot_terminal.h"
#include "support/lines.h"
#include "support/not_finite.h"
#include "support/plain_terminal.h"
#include "support/refuses.h"

namespace attend::draw {
namespace {

// Gradients over d, as with and without 1/sqrt(d).
Plot gradients() {
  Plot plot;
  plot.title = "Gradient";
  plot.x = {"d", AxisScale::log2};
  plot.y = {"mean", AxisScale::log10};
  plot.series = {{"scaled", {}, {}}, {"not scaled", {}, {}}};
  for (int d = 4; d <= 4096; d *= 4) {
    plot.series[0].x.push_back(d);
    plot.series[0].y.push_back(0.1);
    plot.series[1].x.push_back(d);
    plot.series[1].y.push_back(0.1 * std::pow(d / 4.0, -1));
  }
  return plot;
}

TEST(Plot, TicksAreRoundValues) {
  EXPECT_EQ(ticks(AxisScale::linear, {0, 10}, 6), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(ticks(AxisScale::log2, {2, 12}, 6), (std::vector<double>{4, 16, 64, 256, 1024, 4096}));
  const auto decades = ticks(AxisScale::log10, {-12, 0}, 4);
  ASSERT_EQ(decades.size(), 4u);
  EXPECT_NEAR(decades[0], 1e-12, 1e-24);
  EXPECT_EQ(decades[3], 1);
  EXPECT_EQ(ticks(AxisScale::log10, {std::log10(2.0), std::log10(6.0)}, 5).size(), 5u)
      << "inside one decade: 2 3 4 5 6";
  EXPECT_TRUE(ticks(AxisScale::linear, {1e300, std::nextafter(1e300, kInf)}, 5).empty());
}

TEST(Plot, ReadsWithoutColour) {
  EXPECT_EQ(render_plot(gradients(), plain(40), 5),
            "Gradient\n"
            "● scaled   ○ not scaled\n"
            "mean\n"
            "       │●⠛⠫⠭⢍⣉●⠉⠉⠉⠉⠉●⠉⠉⠉⠉⠉⠉●⠉⠉⠉⠉⠉●⠉⠉⠉⠉⠉●\n"
            "  0.01 ┤      ○⠑⠒⠤⢄⣀\n"
            "       │            ○⠉⠒⠒⠤⠤⣀○\n"
            "       │                    ⠉⠑⠒⠤⢄○\n"
            "0.0001 ┤                          ⠉⠑⠒⠢⠤○\n"
            "       └┬─────┬─────┬──────┬─────┬─────┬\n"
            "        4    16    64     256  1024 4096\n"
            "                       d\n");
}

TEST(Plot, PointsThatNoAxisCanShowAreCounted) {
  Plot plot = gradients();
  plot.series[1].y[1] = 0;
  plot.series[1].y[2] = std::nan("");
  EXPECT_EQ(points_left_out(plot), 2);
  EXPECT_EQ(lines_of(render_plot(plot, plain(80))).back(),
            "2 points are not shown: not finite, or not above 0 on a logarithmic axis");
}

TEST(Plot, AnyValues) {
  constexpr double most = std::numeric_limits<double>::max(),
                   least = std::numeric_limits<double>::denorm_min();
  const std::vector<std::vector<double>> cases{{},
                                               {1},
                                               {0, 0, 0},
                                               {least, 2 * least},
                                               {-most, most},
                                               {1, kInf},
                                               {std::nan("")},
                                               {1e300, std::nextafter(1e300, kInf)},
                                               {least, most}};
  for (const auto& values : cases) {
    for (const AxisScale x : {AxisScale::linear, AxisScale::log2, AxisScale::log10}) {
      for (const AxisScale y : {AxisScale::linear, AxisScale::log2, AxisScale::log10}) {
        Plot plot;
        plot.x.scale = x;
        plot.y.scale = y;
        plot.series = {{"a", values, values}};
        for (const int width : {20, 40, 200}) EXPECT_LE(widest_line(render_plot(plot, plain(width))), width);
      }
    }
  }
  EXPECT_LE(widest_line(render_plot({}, plain(40))), 40);
}

TEST(Plot, EveryLineFits) {
  Plot plot = gradients();
  plot.title = plot.x.label = plot.y.label = plot.series[0].name = std::string(300, 'w') + "\x1b[2J";
  for (int width = 20; width <= 200; width += 3) {
    const std::string text = render_plot(plot, {ColorDepth::truecolor, width});
    EXPECT_LE(widest_line(text), width);
    EXPECT_TRUE(is_tame(text));
  }
}

TEST(Plot, RefusesUnequalSeries) {
  Plot plot;
  plot.series = {{"a", {1, 2}, {1}}};
  EXPECT_REFUSES(render_plot(plot, plain(80)), "[plot] a series has 2 x and 1 y");
}

TEST(Plot, NoWidthIsTooSmallToSurvive) {
  for (int width = 0; width < 20; ++width) EXPECT_FALSE(render_plot(gradients(), plain(width)).empty());
}

}  // namespace
}  // namespace attend::draw
