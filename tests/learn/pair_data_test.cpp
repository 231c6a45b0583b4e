#include "learn/pair_data.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "support/temporary_folder.h"

namespace attend::learn {
namespace {

using Texts = std::pair<std::size_t, std::size_t>;

// 23 pairs of different texts, read by the golden BERT with a vocabulary of words.
class PairDataTest : public testing::Test {
 protected:
  PairDataTest() : config(default_config("pairs")) {
    for (const char* const name : {"config.json", "model.safetensors"}) {
      std::filesystem::copy(std::filesystem::path(ATTEND_GOLDEN_MODELS) / "bert" / name, folder / name);
    }
    std::ofstream words(folder / "vocab.txt"), pairs(folder / "pairs.tsv");
    words << "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
    for (int i = 5; i < 64; ++i) words << "w" << i << "\n";
    for (int i = 0; i < 23; ++i) pairs << "w" << 10 + i << "\tw" << 10 + i << " w5 w6\n";
    config.file = (folder / "pairs.tsv").string();
    config.encoder = folder.path().string();
    config.batch = 4;
  }
  static Texts texts(const Pair& pair) { return {pair.first, pair.second}; }

  TemporaryFolder folder;
  Config config;
};

TEST_F(PairDataTest, EachPassHasEveryPairOnceAndNoneThatIsHeldOut) {
  const PairData data(config);
  EXPECT_FALSE(data.scored());
  EXPECT_EQ(data.held_out().size(), 4u);  // a fifth of 23, rounded down
  EXPECT_EQ(data.learned(), 19u);
  std::set<Texts> held;
  for (const Pair& pair : data.held_out()) held.insert(texts(pair));
  std::set<Texts> times[2];
  for (std::uint64_t number = 0; number < 8; ++number) {  // 19 pairs make 4 batches of 4
    for (const Pair& pair : data.batch(number)) {
      EXPECT_FALSE(held.contains(texts(pair)));
      EXPECT_TRUE(times[number / 4].insert(texts(pair)).second) << number;
    }
  }
  EXPECT_NE(times[0], times[1]);  // another remainder
  EXPECT_EQ(data.held_out_batches().size(), 1u);
}

TEST_F(PairDataTest, IsAFunctionOfTheSeed) {
  const PairData data(config), again(config);
  config.seed = 2;
  const PairData other(config);
  const auto ids = [](const PairData& of) { return of.texts_of(of.batch(3)).tokens.ids; };
  EXPECT_EQ(ids(data), ids(again));
  EXPECT_NE(ids(data), ids(other));
  EXPECT_EQ(data.fingerprint(), other.fingerprint());
}

TEST_F(PairDataTest, FirstTextsComeBeforeSecondOnesAndArePadded) {
  const PairData data(config);
  const train::Sequences tokens = data.texts_of(data.batch(0)).tokens;
  EXPECT_EQ(tokens.count, 8);
  EXPECT_EQ(tokens.length, 5);
  EXPECT_EQ(data.longest(), 5);
  EXPECT_EQ(tokens.lengths, (std::vector<std::int64_t>{3, 3, 3, 3, 5, 5, 5, 5}));
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(tokens.ids[i * 5], 2);                                // [CLS]
    EXPECT_EQ(tokens.ids[i * 5 + 1], tokens.ids[(i + 4) * 5 + 1]);  // the word that both have
    EXPECT_EQ(tokens.ids[i * 5 + 2], 3);                            // [SEP]
  }
}

TEST_F(PairDataTest, ABatchIsNoLargerThanAllPairs) {
  config.batch = 100;
  EXPECT_EQ(PairData(config).batch(7).size(), 19u);
}

TEST_F(PairDataTest, TextsAreCutAndKeepWhatIsAddedAroundThem) {
  config.length = 4;
  EXPECT_EQ(PairData(config).longest(), 4);
  config.length = 1;
  EXPECT_THROW(PairData{config}, ConfigError);
}

}  // namespace
}  // namespace attend::learn
