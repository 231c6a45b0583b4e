// What heads do, against sums over the whole matrix of weights.
#include <attend/lens_heads.h>

#include <gtest/gtest.h>

#include <cmath>

#include "lens/golden_reading.h"

namespace attend {
namespace {

class Heads : public testing::TestWithParam<const char*> {
 protected:
  GoldenModel golden_{GetParam()};
  Reading reading_{golden_.load(), "The banks of the river, money is the bank."};

  // weights of a head, (n, n)
  std::vector<double> weights(std::int64_t layer, std::int64_t head) const {
    const Tensor map = lens_map(reading_, {.heads = {.layer = layer, .head = head}}, single_tokens(reading_));
    return {map.values<double>().begin(), map.values<double>().end()};
  }
};

TEST_P(Heads, ProfilesAreMeansOverTheTokensOfTheText) {
  const WordRelation relation{.from = find_word(reading_.words(), "banks"),
                              .to = find_word(reading_.words(), "river")};
  const std::vector<HeadProfile> profiles = profile_heads(reading_, std::vector{relation});
  ASSERT_EQ(static_cast<std::int64_t>(profiles.size()), reading_.layers() * reading_.heads());
  EXPECT_EQ(profiles.front().layer, 1);
  EXPECT_EQ(profiles.front().head, 1);
  EXPECT_EQ(profiles.back().layer, reading_.layers());
  EXPECT_EQ(profiles.back().head, reading_.heads());
  const auto n = static_cast<std::size_t>(reading_.size());
  for (const HeadProfile& profile : profiles) {
    const std::vector<double> w = weights(profile.layer, profile.head);
    double previous = 0, next = 0, same = 0, word = 0, special = 0, entropy = 0;
    // [CLS] the bank ##s of the river , money is the bank . [SEP]
    for (std::size_t i = 1; i + 1 < n; ++i) {
      previous += w[i * n + i - 1];
      next += w[i * n + i + 1];
      same += w[i * n + i];
      special += w[i * n] + w[i * n + n - 1];
      if (i == 2) word += w[i * n + 3];
      if (i == 3) word += w[i * n + 2];
      for (std::size_t j = 0; j < n; ++j)
        entropy -= w[i * n + j] > 0 ? w[i * n + j] * std::log(w[i * n + j]) : 0;
    }
    const double tokens = static_cast<double>(n) - 2;
    EXPECT_NEAR(profile.previous, previous / tokens, 1e-6);
    EXPECT_NEAR(profile.next, next / tokens, 1e-6);
    EXPECT_NEAR(profile.same_token, same / tokens, 1e-6);
    EXPECT_NEAR(profile.same_word, word / tokens, 1e-6);
    EXPECT_NEAR(profile.separator, special / tokens, 1e-6);
    EXPECT_NEAR(profile.entropy, entropy / tokens, 1e-5);
    EXPECT_NEAR(profile.broad, entropy / tokens / std::log(static_cast<double>(n)), 1e-5);
    ASSERT_EQ(profile.relations.size(), 1u);
    EXPECT_NEAR(profile.relations[0], (w[2 * n + 6] + w[3 * n + 6]) / 2,
                1e-6);  // from "bank", "##s" to "river"
  }
}

TEST_P(Heads, AreRankedByTheLinkThatIsAskedFor) {
  const WordRelation relation{.from = find_word(reading_.words(), "money"),
                              .to = find_word(reading_.words(), "banks")};
  const std::vector<HeadLink> links = find_heads(reading_, relation);
  ASSERT_EQ(static_cast<std::int64_t>(links.size()), reading_.layers() * reading_.heads());
  const auto n = static_cast<std::size_t>(reading_.size());
  for (std::size_t i = 0; i < links.size(); ++i) {
    EXPECT_GE(links[i == 0 ? 0 : i - 1].weight, links[i].weight);
    const std::vector<double> w = weights(links[i].layer, links[i].head);
    EXPECT_NEAR(links[i].weight, w[8 * n + 2] + w[8 * n + 3], 1e-6);
    EXPECT_NEAR(links[i].share, links[i].weight / (1 - w[8 * n] - w[8 * n + n - 1]), 1e-5);
  }
}

TEST_P(Heads, ReceiveWhatAllTokensGive) {
  for (const HeadChoice& choice : {HeadChoice{}, HeadChoice{.layer = 2}, HeadChoice{.layer = 1, .head = 2}}) {
    const std::vector<Word> tokens = single_tokens(reading_);
    const std::vector<double> received = lens_received(reading_, choice, tokens);
    const Tensor map = lens_map(reading_, {.heads = choice}, tokens);
    for (std::size_t j = 0; j < tokens.size(); ++j) {
      double sum = 0;
      for (std::size_t i = 0; i < tokens.size(); ++i) sum += map.values<double>()[i * tokens.size() + j];
      EXPECT_NEAR(received[j], sum, 1e-5);
    }
    const std::vector<double> words = lens_received(reading_, choice, reading_.words());
    EXPECT_NEAR(words[2], received[2] + received[3], 1e-9);
  }
}

INSTANTIATE_TEST_SUITE_P(Lens, Heads, testing::Values("bert", "mpnet", "gpt2"));

TEST(Habit, IsWhatStandsOut) {
  EXPECT_EQ(habit_of({.previous = 0.7, .separator = 0.2}), "previous");
  EXPECT_EQ(habit_of({.next = 0.6}), "next");
  EXPECT_EQ(habit_of({.separator = 0.9}), "separator");
  EXPECT_EQ(habit_of({.broad = 0.9}), "broad");
  EXPECT_EQ(habit_of({.previous = 0.3, .broad = 0.5}), "mixed");
}

TEST(Heads, RefuseWordsThatDoNotExist) {
  const GoldenModel golden("bert");
  const Reading reading(golden.load(), "the bank");
  EXPECT_THROW(find_heads(reading, {.from = 0, .to = 4}), std::invalid_argument);
  EXPECT_THROW(profile_heads(reading, std::vector<WordRelation>{{.from = 9, .to = 0}}),
               std::invalid_argument);
}

}  // namespace
}  // namespace attend
