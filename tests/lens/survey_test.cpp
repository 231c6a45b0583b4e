// What heads do over several texts, against the profiles and maps of each.
#include <attend/lens_survey.h>

#include <gtest/gtest.h>

#include <cmath>

#include "lens/golden_reading.h"
#include "support/refuses.h"

namespace attend {
namespace {

class Survey : public testing::TestWithParam<const char*> {
 protected:
  Survey() {
    for (const char* const text :
         {"The banks of the river, money is the bank.", "Money is of the bank.", "river"})
      readings_.emplace_back(model_, text);
  }

  GoldenModel golden_{GetParam()};
  TextModel model_ = golden_.load();
  std::vector<Reading> readings_;
};

TEST_P(Survey, MeansAndDeviationsOverTexts) {
  HeadSurvey survey;
  std::vector<std::vector<HeadProfile>> profiles;
  for (const Reading& reading : readings_) {
    EXPECT_TRUE(survey.add(reading));
    profiles.push_back(profile_heads(reading));
  }
  EXPECT_EQ(survey.texts(), 3);
  const std::vector<SurveyedHead> heads = survey.heads();
  ASSERT_EQ(heads.size(), profiles[0].size());
  for (std::size_t h = 0; h < heads.size(); ++h) {
    EXPECT_EQ(heads[h].layer, profiles[0][h].layer);
    EXPECT_EQ(heads[h].head, profiles[0][h].head);
    const double a = profiles[0][h].separator, b = profiles[1][h].separator, c = profiles[2][h].separator;
    const double mean = (a + b + c) / 3;
    EXPECT_NEAR(heads[h].separator.mean, mean, 1e-12);
    EXPECT_NEAR(heads[h].separator.deviation,
                std::sqrt(((a - mean) * (a - mean) + (b - mean) * (b - mean) + (c - mean) * (c - mean)) / 2),
                1e-12);
    // A token occurs again in the first text alone.
    ASSERT_EQ(profiles[1][h].repeated + profiles[2][h].repeated, 0);
    EXPECT_NEAR(heads[h].duplicate.mean, profiles[0][h].duplicate, 1e-12);
    EXPECT_EQ(heads[h].duplicate.deviation, 0);
    std::int64_t counted = 0, most = heads[h].habits.front().texts;
    for (const HabitCount& habit : heads[h].habits) {
      EXPECT_LE(habit.texts, most);
      most = habit.texts;
      counted += habit.texts;
    }
    EXPECT_EQ(counted, 3);
  }
}

TEST_P(Survey, LinksAreMeansOverTheWordsOfAKind) {
  LinkSurvey survey(WordKinds("bank,banks"), WordKinds("article"));
  EXPECT_EQ(survey.add(readings_[0]), 2);
  EXPECT_EQ(survey.add(readings_[1]), 1);
  EXPECT_EQ(survey.add(readings_[2]), 0) << "no such word";
  EXPECT_EQ(survey.texts(), 2);
  EXPECT_EQ(survey.words(), 3);
  const std::vector<KindLink> links = survey.heads();
  ASSERT_EQ(links.size(), static_cast<std::size_t>(readings_[0].layers() * readings_[0].heads()));
  for (std::size_t i = 0; i < links.size(); ++i) {
    const KindLink& link = links[i];
    const KindLink& before = links[i == 0 ? 0 : i - 1];
    EXPECT_LE(link.weight - link.others, before.weight - before.others);
    double weight = 0, others = 0, count = 0;
    for (const Reading* reading : {&readings_[0], &readings_[1]}) {
      const std::vector<Word>& words = reading->words();
      const Tensor map = lens_map(*reading, {.heads = {.layer = link.layer, .head = link.head}}, words);
      for (std::size_t from = 0; from < words.size(); ++from) {
        if (words[from].special) continue;
        double sum = 0;
        for (std::size_t to = 0; to < words.size(); ++to) {
          const bool article = words[to].text == "the" || words[to].text == "The";
          if (article && to != from) sum += map.values<double>()[from * words.size() + to];
        }
        const bool bank = words[from].text.starts_with("bank");
        (bank ? weight : others) += sum;
        count += bank ? 0 : 1;
      }
    }
    EXPECT_NEAR(link.weight, weight / 3, 1e-12);
    EXPECT_NEAR(link.others, others / count, 1e-12);
  }
}

TEST_P(Survey, TheStrongestLinkOfAText) {
  const LinkSurvey survey(WordKinds("word"), WordKinds("river"));
  const HeadChoice head{.layer = 2, .head = 1};
  const LinkExample best = survey.strongest(readings_[0], 7, head);
  const std::vector<Word>& words = readings_[0].words();
  EXPECT_EQ(best.text, 7);
  EXPECT_EQ(words[best.to].text, "river");
  EXPECT_EQ(best.weight, lens_row(readings_[0], {.heads = head}, words, best.from)[best.to]);
  for (std::size_t from = 0; from < words.size(); ++from) {
    if (words[from].special || from == best.to || words[from].text == "," || words[from].text == ".")
      continue;
    EXPECT_LE(lens_row(readings_[0], {.heads = head}, words, from)[best.to], best.weight);
  }
  EXPECT_EQ(survey.strongest(readings_[1], 0, head).weight, 0) << "no river in it";
}

INSTANTIATE_TEST_SUITE_P(All, Survey, testing::Values("bert", "gpt2"));

}  // namespace
}  // namespace attend
