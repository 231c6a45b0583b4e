#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "draw/bars_terminal.h"
#include "support/lines.h"
#include "support/plain_terminal.h"

namespace attend::draw {
namespace {

TEST(Bars, LabelNumberBar) {
  Bars bars{"Where \"it\" looks", {{"animal", 0.5}, {"it", 1}, {"注意", 0.03125}, {"none", 0}}, 0};
  EXPECT_EQ(render_bars(bars, plain(32)),
            "Where \"it\" looks\n"
            "animal  0.5000  ████████\n"
            "it      1.0000  ████████████████\n"
            "注意    0.0312  ▌\n"
            "none    0.0000\n");
  bars.full_length = 2;
  EXPECT_EQ(lines_of(render_bars(bars, plain(32)))[2], "it      1.0000  ████████");
}

TEST(Bars, NegativeValuesGoLeft) {
  const Bars bars{"", {{"a", -1}, {"b", 1}, {"c", -0.125}}, 0};
  EXPECT_EQ(render_bars(bars, plain(19)),
            "a  -1.000  ████\n"
            "b   1.000      ████\n"
            "c  -0.125     ▐\n");
}

TEST(Bars, SpecialValuesAndNone) {
  constexpr double inf = std::numeric_limits<double>::infinity(), most = std::numeric_limits<double>::max();
  EXPECT_EQ(render_bars({}, plain(40)), "");
  EXPECT_EQ(render_bars({"", {{"a", 0}, {"b", 0}}, 0}, plain(40)), "a  0\nb  0\n");
  const Bars bars{"", {{"a", inf}, {"b", -inf}, {"c", std::nan("")}, {"d", most}, {"e", -most}}, 0};
  for (int width = 20; width < 120; ++width) EXPECT_LE(widest_line(render_bars(bars, plain(width))), width);
}

TEST(Bars, EveryLineFits) {
  Bars bars{std::string(300, 't'), {{std::string(300, 'l'), 1}, {"\x1b[2J", 0.3, true}}, 0};
  for (int width = 20; width <= 200; ++width) {
    const std::string text = render_bars(bars, plain(width));
    EXPECT_LE(widest_line(text), width);
    EXPECT_TRUE(is_tame(text));
  }
}

TEST(Bars, NoWidthIsTooSmallToSurvive) {
  for (int width = 0; width < 20; ++width)
    EXPECT_FALSE(render_bars({"t", {{"label", 1}, {"b", -1}}, 0}, plain(width)).empty());
}

}  // namespace
}  // namespace attend::draw
