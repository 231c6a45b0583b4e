// Equations: in columns where they fit, broken over lines where they do not, never cut and never too wide.
#include "steps/equations.h"

#include <gtest/gtest.h>

#include <sstream>

#include "draw/text_width.h"

namespace attend::steps {
namespace {

Equations two_sums() {
  Equations equations;
  equations.add("“a”", {"1 × 2", "+ 3 × 4"}, {"14"});
  equations.add("“bb”", {"1 × 2"}, {"2"});
  return equations;
}

TEST(Equations, StandInColumns) {
  EXPECT_EQ(two_sums().finish(80),
            "  “a”   1 × 2 + 3 × 4 = 14\n"
            "  “bb”  1 × 2         =  2\n\n");
}

TEST(Equations, FitExactly) {
  EXPECT_EQ(two_sums().finish(26), two_sums().finish(80));
  EXPECT_NE(two_sums().finish(25), two_sums().finish(80));
}

TEST(Equations, BreakBetweenTerms) {
  EXPECT_EQ(two_sums().finish(16),
            "  “a”\n"
            "    1 × 2\n"
            "      + 3 × 4\n"
            "      = 14\n"
            "  “bb”\n"
            "    1 × 2\n"
            "      = 2\n\n");
}

TEST(Equations, BreakInsideATermThatIsTooWide) {
  Equations equations;
  equations.add("x", {"-0.123456 × (-0.654321)"}, {"0.080780"});
  EXPECT_EQ(equations.finish(18),
            "  x\n"
            "    -0.123456 ×\n"
            "      (-0.654321)\n"
            "      = 0.080780\n\n");
}

TEST(Equations, NeverWiderThanAsked) {
  for (int width = 20; width <= 60; ++width) {
    Equations equations;
    equations.add("a label of some length", {"0.25 × [0.1000,", "0.2000,", "-0.3000]"},
                  {"[0.0250,", "0.0500,", "-0.0750]"});
    equations.add("added up", {}, {"[0.0250,", "0.0500,", "-0.0750]"});
    std::istringstream lines(equations.finish(width));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(draw::text_width(line), width) << line;
  }
}

TEST(Equations, AreGoneOnceWritten) {
  Equations equations = two_sums();
  equations.finish(80);
  EXPECT_EQ(equations.finish(80), "\n");
}

}  // namespace
}  // namespace attend::steps
