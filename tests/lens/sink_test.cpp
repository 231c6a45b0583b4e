// The first token as a sink: how much rests on it, whether it is left out, and what is left then.
#include <attend/lens_sink.h>
#include <attend/lens_tiles.h>
#include <gtest/gtest.h>

#include "golden_reading.h"
#include "support/refuses.h"

namespace attend {
namespace {

constexpr const char* kSinkText = "The banks of the river, money is unknown.";

const TextModel& sinking_model() {
  static const TextModel model = TextModel::load(ATTEND_GOLDEN_SINK);
  return model;
}

// The mean weight on the first token, from whole maps between tokens, head by head.
double measured_share(const Reading& reading) {
  const std::vector<Word> tokens = single_tokens(reading);
  double sum = 0;
  for (std::int64_t layer = 1; layer <= reading.layers(); ++layer) {
    for (std::int64_t head = 1; head <= reading.heads(); ++head) {
      const Tensor map = lens_map(reading, {.heads = {.layer = layer, .head = head}}, tokens);
      for (std::int64_t row = 2; row < reading.size(); ++row)
        sum += map.values<double>()[static_cast<std::size_t>(row * reading.size())];
    }
  }
  return sum / static_cast<double>(reading.layers() * reading.heads() * (reading.size() - 2));
}

std::vector<std::string> names_of_units(const std::vector<Word>& units) {
  std::vector<std::string> names;
  for (const Word& unit : units) names.push_back(unit.text);
  return names;
}

TEST(FirstToken, ItsShareIsTheMeanOverLayersHeadsAndRows) {
  const Reading reading(sinking_model(), kSinkText);
  const std::optional<FirstToken> first = first_token_of(reading);
  ASSERT_TRUE(first);
  EXPECT_NEAR(first->share, measured_share(reading), 1e-6);
  EXPECT_GT(first->share, 0.5);
  EXPECT_EQ(first->rows, 10);
  EXPECT_EQ(first->text, "The");
  EXPECT_FALSE(first->special);
  EXPECT_TRUE(first->is_sink());
  EXPECT_TRUE(folds_first_token(SinkChoice::automatic, first));
  EXPECT_FALSE(folds_first_token(SinkChoice::keep, first));
}

TEST(FirstToken, AReadingOfOneLayerHasTheSameShare) {
  const FirstToken whole = *first_token_of(Reading(sinking_model(), kSinkText));
  const FirstToken one = *first_token_of(Reading(sinking_model(), kSinkText, "", {.only_layer = 2}));
  EXPECT_EQ(one.share, whole.share);
  EXPECT_EQ(one.text, whole.text);
}

TEST(FirstToken, ASpecialOneIsToldAndNotFolded) {
  const GoldenModel golden("gpt2");
  const Reading reading(golden.load(), "The bank of the river.");
  const std::optional<FirstToken> first = first_token_of(reading);
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->special);
  EXPECT_EQ(first->text, "[CLS]");
  EXPECT_NEAR(first->share, measured_share(reading), 1e-6);
  EXPECT_NEAR(first->share, first->even, 0.1);  // random weights are spread nearly evenly
  EXPECT_FALSE(folds_first_token(SinkChoice::automatic, FirstToken{.special = true, .share = 0.9}));
}

TEST(FirstToken, ShortTextsNeedMoreThanAnEvenShare) {
  EXPECT_TRUE((FirstToken{.share = 0.3, .even = 0.1}.is_sink()));
  EXPECT_FALSE((FirstToken{.share = 0.29, .even = 0.1}.is_sink()));
  EXPECT_FALSE((FirstToken{.share = 0.4, .even = 1.0 / 3}.is_sink()));
  EXPECT_TRUE((FirstToken{.share = 0.7, .even = 1.0 / 3}.is_sink()));
  const FirstToken two = *first_token_of(Reading(sinking_model(), "the of"));
  EXPECT_EQ(two.rows, 0);
  EXPECT_FALSE(two.is_sink());
}

TEST(FirstToken, AModelThatLooksAheadHasNone) {
  const GoldenModel golden("bert");
  const Reading reading(golden.load(), "The bank.");
  EXPECT_FALSE(first_token_of(reading));
  EXPECT_FALSE(folds_first_token(SinkChoice::automatic, first_token_of(reading)));
  EXPECT_REFUSES(folds_first_token(SinkChoice::fold, first_token_of(reading)),
                 "[lens] the first token is only folded where every token looks back");
}

TEST(FirstToken, AWordOfSeveralTokensKeepsTheOthers) {
  const Reading reading(sinking_model(), "Unknown river.");
  const std::vector<Word> apart = first_token_apart(reading, reading.words());
  EXPECT_EQ(names_of_units(apart), (std::vector<std::string>{"un", "Unknown", "river", "."}));
  EXPECT_EQ(apart[0].last_token, 1);
  EXPECT_EQ(apart[1].first_token, 1);
  EXPECT_EQ(apart[0].place.end, 2);
  EXPECT_EQ(apart[1].place.begin, 2);
  const std::vector<Word> rest = without_first_token(reading.words());
  EXPECT_EQ(names_of_units(rest), (std::vector<std::string>{"Unknown", "river", "."}));
  EXPECT_EQ(rest[0].first_token, 1);
  EXPECT_EQ(rest[0].last_token, 2);
  const Reading plain(sinking_model(), "the river");
  EXPECT_EQ(first_token_apart(plain, plain.words()).size(), 2U);
  EXPECT_EQ(names_of_units(without_first_token(plain.words())), std::vector<std::string>{"river"});
  const Reading one(sinking_model(), "the");
  EXPECT_EQ(without_first_token(one.words()).size(), 1U);
}

// Tiles of what is left are the whole map without its first column, made to add up to 1 again.
TEST(FirstToken, TilesWithoutItAddUpToOne) {
  const Reading reading(sinking_model(), "Unknown banks of the river, money is the bank.");
  const std::vector<Word> all = first_token_apart(reading, reading.words());
  const std::vector<Word> rest = without_first_token(reading.words());
  for (const LensMethod method : {LensMethod::raw, LensMethod::norm, LensMethod::rollout}) {
    const LensQuery query{.method = method};
    LensTiles tiles(reading, query, rest);
    for (std::size_t row = 0; row < rest.size(); ++row) {
      const std::vector<double> whole = lens_row(reading, query, all, row + 1), got = tiles.row(row);
      ASSERT_EQ(got.size() + 1, whole.size());
      for (std::size_t j = 0; j < got.size(); ++j)
        EXPECT_NEAR(got[j], whole[j + 1] / (1 - whole[0]), 1e-5) << name_of(method) << " " << row;
    }
  }
}

}  // namespace
}  // namespace attend
