#include "doctor/precisions.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

namespace attend::doctor {
namespace {

TEST(Precisions, TextsAreInSeveralScriptsAndNoneIsThereTwice) {
  const std::span<const std::string_view> texts = precision_texts();
  EXPECT_GE(texts.size(), 10U);
  EXPECT_EQ(std::set(texts.begin(), texts.end()).size(), texts.size());
  // First bytes of UTF-8: Latin letters are 1 byte, Cyrillic and Arabic 2, Chinese 3.
  std::set<int> lengths;
  for (const std::string_view text : texts) {
    const auto first = static_cast<unsigned char>(text.front());
    lengths.insert(first < 0x80 ? 1 : first < 0xe0 ? 2 : 3);
  }
  EXPECT_EQ(lengths, (std::set<int>{1, 2, 3}));
}

TEST(Precisions, GuessesAreComparedPlaceByPlace) {
  const Guesses exact{.log_probabilities = {-1, -2, -3, -4}, .first = {5, 6, 7, 8}};
  const GuessAgreement same = compare(exact, exact);
  EXPECT_EQ(same.places, 4);
  EXPECT_EQ(same.mean, 0);
  EXPECT_EQ(same.largest, 0);
  EXPECT_EQ(same.same_first, 1);
  const GuessAgreement apart =
      compare({.log_probabilities = {-1.5, -1.75, -3, -4}, .first = {5, 6, 7, 9}}, exact);
  EXPECT_EQ(apart.mean, 0.75 / 4);
  EXPECT_EQ(apart.largest, 0.5);
  EXPECT_EQ(apart.shift, -0.25 / 4);
  EXPECT_EQ(apart.same_first, 0.75);
  EXPECT_EQ(compare(Guesses{}, Guesses{}).places, 0);
}

TEST(Precisions, WhatIsNotFiniteIsInfinitelyFarAway) {
  const Guesses exact{.log_probabilities = {-1, -2}, .first = {5, 6}};
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), -HUGE_VAL}) {
    const GuessAgreement apart = compare({.log_probabilities = {bad, -2}, .first = {5, 6}}, exact);
    EXPECT_EQ(apart.largest, HUGE_VAL);
    EXPECT_EQ(apart.mean, HUGE_VAL);
  }
}

}  // namespace
}  // namespace attend::doctor
