// The table of guesses: the same numbers as the logit lens, at any temperature.
#include <attend/lens_next.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lens/golden_reading.h"
#include "support/refuses.h"

namespace attend {
namespace {

class Guesses : public testing::TestWithParam<const char*> {
 protected:
  GoldenModel golden_{GetParam()};
  TextModel model_ = golden_.load();
  Reading reading_{model_, "the banks of the river , money",
                   model_.transformer().description().has_source() ? "the bank" : ""};
};
INSTANTIATE_TEST_SUITE_P(Families, Guesses,
                         testing::Values("gpt2", "t5", "../decoders/llama", "../decoders/gemma2"),
                         [](const auto& family) { return "n" + std::to_string(family.index); });

TEST_P(Guesses, AreThoseOfTheLogitLens) {
  const std::int64_t place = expects_next(reading_).last - 1;
  ASSERT_EQ(place, reading_.size() - 1);
  std::vector<GuessPlace> places;
  for (std::int64_t layer = 0; layer <= reading_.layers(); ++layer)
    places.push_back({.place = place, .layer = layer, .watched = 6});
  const std::vector<PlaceGuesses> found = guesses_at(reading_, places, 4);
  const LogitLens expected = logit_lens(reading_, place, 4, 6);
  ASSERT_EQ(found.size(), expected.layers.size());
  for (std::size_t layer = 0; layer < found.size(); ++layer) {
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(found[layer].tokens[i], expected.layers[layer].guesses[i].token) << layer << " " << i;
      EXPECT_NEAR(std::exp(found[layer].logits[i] - found[layer].log_sums[0]),
                  expected.layers[layer].guesses[i].probability, 2e-5);
    }
    EXPECT_NEAR(std::exp(found[layer].watched - found[layer].log_sums[0]), expected.layers[layer].probability,
                2e-5);
  }
}

TEST_P(Guesses, AtAnyTemperatureAddUpToOne) {
  const std::int64_t place = reading_.size() - 1;
  const std::vector<double> temperatures = {0.1, 0.5, 1, 2};
  const GuessPlace question{.place = place, .layer = reading_.layers(), .temperatures = temperatures};
  const PlaceGuesses all =
      guesses_at(reading_, std::span(&question, 1),
                 static_cast<std::size_t>(model_.transformer().description().vocabulary_size))
          .front();
  EXPECT_EQ(all.logits.front(), 0);
  EXPECT_EQ(all.watched, -std::numeric_limits<double>::infinity());
  for (std::size_t t = 0; t < temperatures.size(); ++t) {
    double sum = 0;
    for (const double logit : all.logits) sum += std::exp(logit / temperatures[t] - all.log_sums[t]);
    EXPECT_NEAR(sum, 1, 1e-12);
  }
}

TEST(GuessesOf, ModelsThatDoNotWriteAreRefused) {
  const GoldenModel golden("bert");
  const Reading reading(golden.load(), "the bank");
  EXPECT_EQ(expects_next(reading).size(), 0);
  const GuessPlace question{.place = 0, .layer = 0};
  EXPECT_THROW(guesses_at(reading, std::span(&question, 1), 3), std::invalid_argument);
}

TEST(GuessesOf, NonsenseIsRefused) {
  const GoldenModel golden("gpt2");
  const Reading reading(golden.load(), "the bank");
  const auto ask = [&](const GuessPlace& question) { guesses_at(reading, std::span(&question, 1), 3); };
  EXPECT_REFUSES(ask({.place = 99, .layer = 0}), "place is 99");
  EXPECT_REFUSES(ask({.place = 0, .layer = 9}), "layer is 9");
  EXPECT_REFUSES(ask({.place = 0, .layer = 0, .temperatures = {0.0}}), "temperature is 0");
  EXPECT_REFUSES(ask({.place = 0, .layer = 0, .watched = -1}), "token is -1");
}

}  // namespace
}  // namespace attend
