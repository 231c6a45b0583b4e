#include "learn/pronoun.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

namespace attend::learn {
namespace {

TEST(Pronoun, SentencesSayWhatIsMeant) {
  std::vector<PronounSentence> all = pronoun_sentences();
  EXPECT_EQ(all.size(), 6u);
  all.push_back(textbook_sentence());
  for (const PronounSentence& sentence : all) {
    EXPECT_EQ(sentence.tokens.at(static_cast<std::size_t>(sentence.pronoun)), "it");
    const Tensor x = word_features(sentence.tokens);
    EXPECT_EQ(x.values<double>()[static_cast<std::size_t>(sentence.meant * 7 + 1)], 1);  // one that lives
  }
  EXPECT_THROW(word_features({"zebra"}), std::invalid_argument);
}

// The textbooks' sentence shares no noun with those that are learned from.
TEST(Pronoun, TheTextbooksSentenceIsNotLearnedFrom) {
  std::set<std::string> seen;
  for (const PronounSentence& sentence : pronoun_sentences())
    seen.insert(sentence.tokens.begin(), sentence.tokens.end());
  for (const char* const noun : {"animal", "street"}) EXPECT_FALSE(seen.contains(noun));
}

TEST(Pronoun, ItFindsTheAnimalWhateverTheStart) {
  const train::AdamWOptions options{};
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    PronounFit fit(seed);
    EXPECT_LT(fit.weight(), 0.4);
    double loss = 1;
    while (loss > PronounFit::kLearned && fit.steps() < 500) loss = fit.step(options, 0.05);
    EXPECT_LE(loss, PronounFit::kLearned) << seed;
    EXPECT_GE(fit.weight(), 0.6) << seed;
  }
}

TEST(Pronoun, TheSameStartGivesTheSameResult) {
  PronounFit first(3), second(3);
  for (int step = 0; step < 5; ++step) EXPECT_EQ(first.step({}, 0.05), second.step({}, 0.05));
  EXPECT_EQ(first.weight(), second.weight());
}

}  // namespace
}  // namespace attend::learn
