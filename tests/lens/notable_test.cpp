// Which heads are worth seeing: made-up weights, in which each head does one thing.
#include <attend/lens_notable.h>
#include <attend/lens_recording.h>

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "lens/golden_reading.h"
#include "support/refuses.h"

namespace attend {
namespace {

constexpr std::int64_t kWords = 10;
constexpr const char* kNames[kWords] = {"the",   "cat", "that", "chased", "a",
                                        "mouse", ",",   "then", "slept",  "well"};

// What a word gives to each other, before rows are made to add up to 1.
using HeadOfWords = std::function<double(std::int64_t from, std::int64_t to)>;

Reading reading_of(const std::vector<HeadOfWords>& heads, bool causal = false) {
  Recording recording{.model = "made up"};
  for (std::int64_t word = 0; word < kWords; ++word)
    recording.tokens.push_back({.text = kNames[word], .id = static_cast<std::int32_t>(word)});
  // Keys tell words apart, and a query is the logarithm of what each gets: softmax gives the shares.
  const auto count = static_cast<std::int64_t>(heads.size());
  RecordedLayer layer{.q = Tensor(DType::f32, {kWords, count, kWords}),
                      .k = Tensor(DType::f32, {kWords, count, kWords}),
                      .v = Tensor(DType::f32, {kWords, count, kWords}),
                      .scale = 1.0,
                      .causal = causal};
  for (std::int64_t i = 0; i < kWords; ++i) {
    for (std::int64_t h = 0; h < count; ++h) {
      const std::int64_t row = (i * count + h) * kWords;
      layer.k.values<float>()[static_cast<std::size_t>(row + i)] = 1;
      for (std::int64_t j = 0; j < kWords; ++j) {
        layer.q.values<float>()[static_cast<std::size_t>(row + j)] =
            static_cast<float>(std::log(0.01 + heads[static_cast<std::size_t>(h)](i, j)));
      }
    }
  }
  recording.layers.push_back(std::move(layer));
  return Reading(std::move(recording));
}

double even(std::int64_t, std::int64_t) { return 1; }
double before(std::int64_t from, std::int64_t to) { return to == from - 1 ? 1 : 0; }
double after(std::int64_t from, std::int64_t to) { return to == from + 1 ? 1 : 0; }
double two_before(std::int64_t from, std::int64_t to) { return to == from - 2 ? 1 : 0; }
double column(std::int64_t, std::int64_t to) { return to == 3 ? 1 : 0; }
double comma(std::int64_t from, std::int64_t to) { return from == 1 ? to == 6 : 1; }
double itself(std::int64_t from, std::int64_t to) { return from == to ? 1 : 0; }
// "slept" looks at "cat", everything else everywhere.
double subject(std::int64_t from, std::int64_t to) { return from == 8 ? to == 1 : 1; }
// A fainter link, and a nearer one.
double object(std::int64_t from, std::int64_t to) { return from == 3 && to == 5 ? 12 : 1; }

TEST(NotableHeads, LinkWordsFirstAndThenNeighbours) {
  const Reading reading =
      reading_of({even, before, object, column, after, subject, two_before, comma, itself});
  const std::vector<NotableHead> heads = notable_heads(reading);
  ASSERT_EQ(heads.size(), 4u);
  EXPECT_EQ(heads[0].head, 6);
  EXPECT_EQ(heads[0].layer, 1);
  EXPECT_EQ(heads[0].role, HeadRole::links);
  EXPECT_EQ(heads[0].links.front().from, 8u);
  EXPECT_EQ(heads[0].links.front().to, 1u);
  EXPECT_NEAR(heads[0].share, 1.01 / 1.1, 1e-5);
  EXPECT_NEAR(heads[0].links.front().beyond, 1.01 / 1.1 - 0.1, 1e-5);
  EXPECT_EQ(sentence_of(reading, heads[0]), "92% of the weight of “slept” goes to “cat”");
  EXPECT_EQ(heads[1].head, 3);
  EXPECT_EQ(heads[2].role, HeadRole::previous);
  EXPECT_EQ(heads[2].head, 2);
  EXPECT_EQ(sentence_of(reading, heads[2]), "92% of the weight goes to the word before");
  EXPECT_EQ(heads[3].role, HeadRole::next);
  EXPECT_EQ(heads[3].head, 5);
}

TEST(NotableHeads, APairIsShownByTheHeadThatLinksItMostClearly) {
  const Reading reading =
      reading_of({object, [](std::int64_t from, std::int64_t to) { return 2 * object(from, to); },
                  [](std::int64_t from, std::int64_t to) { return from == 3 ? to == 5 : 1.0; }});
  const std::vector<NotableHead> heads = notable_heads(reading);
  ASSERT_EQ(heads.size(), 1u);
  EXPECT_EQ(heads[0].head, 3);
}

TEST(NotableHeads, OfAFocusAreThoseThatItLinks) {
  const Reading reading = reading_of({subject, object, before});
  const std::vector<NotableHead> heads = notable_heads(reading, 3);
  ASSERT_EQ(heads.size(), 2u);
  EXPECT_EQ(heads[0].head, 2);
  EXPECT_EQ(heads[1].role, HeadRole::previous);
  EXPECT_EQ(notable_heads(reading, 3, 1).size(), 1u);
  EXPECT_TRUE(notable_heads(reading, 3, 0).empty());
  EXPECT_REFUSES(notable_heads(reading, 10), "word is 10, but there are 10, counted from 0");
}

TEST(NotableHeads, LookBackWhereAModelDoes) {
  const Reading reading = reading_of({even, subject, column}, true);
  const std::vector<NotableHead> heads = notable_heads(reading);
  ASSERT_EQ(heads.size(), 1u);
  EXPECT_EQ(heads[0].head, 2);
}

TEST(NotableHeads, AreNoneWhereNothingStandsOut) {
  EXPECT_TRUE(notable_heads(reading_of({even, column, itself, comma})).empty());
  const GoldenModel golden("bert");
  EXPECT_TRUE(notable_heads(Reading(golden.load(), "the")).empty());
}

}  // namespace
}  // namespace attend
