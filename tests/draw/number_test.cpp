#include "draw/number.h"

#include <gtest/gtest.h>

#include <clocale>
#include <cmath>
#include <limits>
#include <vector>

#include "support/not_finite.h"

namespace attend::draw {
namespace {

// The values of one matrix, each as it would be written there.
std::vector<std::string> written(const std::vector<double>& values, int most_decimals = 4) {
  const NumberFormat format = number_format_for(values, most_decimals);
  std::vector<std::string> texts;
  for (const double value : values) texts.push_back(format_number(value, format));
  return texts;
}

using Texts = std::vector<std::string>;

TEST(Number, AsFewDecimalsAsShowAll) {
  EXPECT_EQ(written({1, 0, 2}), (Texts{"1", "0", "2"}));
  EXPECT_EQ(written({1, 0.5}), (Texts{"1.0", "0.5"}));
  EXPECT_EQ(written({0.1 + 0.2, 0.25}), (Texts{"0.30", "0.25"}));
  EXPECT_EQ(written({0.475367, 0.174878}), (Texts{"0.4754", "0.1749"}));
  EXPECT_EQ(written({0.475367}, 2), (Texts{"0.48"}));
  EXPECT_EQ(written({}), Texts{});
}

TEST(Number, LongAndSmallNumbers) {
  EXPECT_EQ(written({123456.789, 1.5}), (Texts{"123456.79", "1.50"}));
  EXPECT_EQ(written({123456789.0, 1}), (Texts{"1.235e8", "1.000e0"}));
  EXPECT_EQ(written({1e38, 0}), (Texts{"1.000e38", "0"}));
  EXPECT_EQ(written({1.5e-9, -2.25e-10}), (Texts{"1.500e-9", "-2.250e-10"}));
  EXPECT_EQ(written({0.5, 1.5e-10}), (Texts{"0.5", "0.0"})) << "what is lost does not matter beside the rest";
  EXPECT_EQ(written({0.0005, 0.0002}), (Texts{"0.0005", "0.0002"})) << "nothing is lost, so nothing changes";
  EXPECT_EQ(written({std::numeric_limits<double>::max()}), (Texts{"1.798e308"}));
  EXPECT_EQ(written({std::numeric_limits<double>::denorm_min()}), (Texts{"4.941e-324"}));
}

TEST(Number, InfinityNanAndTheSignOfZero) {
  EXPECT_EQ(written({-kInf, kInf, std::nan(""), 1}), (Texts{"-inf", "inf", "nan", "1"}));
  EXPECT_EQ(written({-0.0, 1}), (Texts{"0", "1"}));
  EXPECT_EQ(format_number(-0.00001, {4, false}), "0.0000");
  EXPECT_EQ(format_number(-0.0, {3, true}), "0");
  EXPECT_EQ(format_number(std::numeric_limits<double>::max(), {4, false}).size(), 314u);
}

TEST(Number, Short) {
  EXPECT_EQ(format_short(4096), "4096");
  EXPECT_EQ(format_short(1048576), "1048576");
  EXPECT_EQ(format_short(0.475367, 3), "0.475");
  EXPECT_EQ(format_short(0.30000000000000004), "0.3");
  EXPECT_EQ(format_short(1e-8), "1e-8");
  EXPECT_EQ(format_short(1e12), "1e12");
  EXPECT_EQ(format_short(-0.0), "0");
  EXPECT_EQ(format_short(-kInf), "-inf");
}

TEST(Number, NoLocaleChangesThePoint) {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"}) std::setlocale(LC_ALL, name);
  EXPECT_EQ(format_number(1234.5, {1, false}), "1234.5");
  std::setlocale(LC_ALL, before.c_str());
}

}  // namespace
}  // namespace attend::draw
