#include "learn/pair_file.h"

#include <gtest/gtest.h>

#include <fstream>

#include "support/file_error.h"
#include "support/temporary_folder.h"

namespace attend::learn {
namespace {

class PairFileTest : public testing::Test {
 protected:
  PairFile read(const std::string& name, const std::string& text, double score_max = 1) {
    std::ofstream(folder / name) << text;
    return read_pairs(folder / name, score_max);
  }
  TemporaryFolder folder;
};

TEST_F(PairFileTest, ReadsColumns) {
  const PairFile scored = read("a.tsv", "one\ttwo\t0.5\n\n \nthree\tfour\t-1\r\n");
  ASSERT_EQ(scored.pairs.size(), 2u);
  EXPECT_TRUE(scored.scored);
  EXPECT_EQ(scored.pairs[1].first, "three");
  EXPECT_EQ(scored.pairs[1].second, "four");
  EXPECT_EQ(scored.pairs[1].score, -1);
  EXPECT_EQ(scored.pairs[1].line, 4);
  const PairFile plain = read("b.tsv", "\xEF\xBB\xBFone\ttwo\nthree\tfour");
  EXPECT_FALSE(plain.scored);
  EXPECT_EQ(plain.pairs.front().first, "one");
  EXPECT_EQ(plain.pairs.size(), 2u);
}

TEST_F(PairFileTest, AHeaderSaysWhereThingsAre) {
  const PairFile file = read("a.tsv", "\nid\tscore\tsentence2\tsentence1\n7\t2.5\ttwo\tone\n", 5);
  ASSERT_EQ(file.pairs.size(), 1u);
  EXPECT_EQ(file.pairs[0].first, "one");
  EXPECT_EQ(file.pairs[0].second, "two");
  EXPECT_EQ(file.pairs[0].score, 0.5);
  EXPECT_FALSE(read("b.tsv", "anchor\tpositive\none\ttwo\n").scored);
  // Only as the first line, and only with both names.
  EXPECT_EQ(read("c.tsv", "one\ttwo\nanchor\tpositive\n").pairs.size(), 2u);
  EXPECT_EQ(read("d.tsv", "anchor\ta weight\n").pairs.size(), 1u);
}

TEST_F(PairFileTest, ReadsObjects) {
  const PairFile file =
      read("a.jsonl",
           "{\"sentence1\": \"o\\u006ee\", \"sentence2\": \"two\", \"score\": 1, \"x\": [1]}\n\n"
           "{\"label\": 0, \"text2\": \"four\", \"text1\": \"three\"}\n");
  ASSERT_EQ(file.pairs.size(), 2u);
  EXPECT_EQ(file.pairs[0].first, "one");
  EXPECT_EQ(file.pairs[1].second, "four");
  EXPECT_TRUE(file.scored);
  EXPECT_FALSE(read("b.jsonl", "{\"anchor\": \"a\", \"positive\": \"b\", \"score\": null}").scored);
}

TEST_F(PairFileTest, RefusesInOneSentenceWithTheLine) {
  EXPECT_FILE_ERROR(read("a.tsv", ""), "", "has no pairs");
  EXPECT_FILE_ERROR(read("a.tsv", "sentence1\tsentence2\n"), "", "has no pairs");
  EXPECT_FILE_ERROR(read("a.txt", "a\tb\n"), "", "is neither a .tsv nor a .jsonl");
  EXPECT_FILE_ERROR(read("a.tsv", "a\tb\nalone\n"), "line 2", "has 1 column, expected two sentences");
  EXPECT_FILE_ERROR(read("a.tsv", "a\tb\t1\tc\n"), "line 1", "has 4 columns, expected two sentences");
  EXPECT_FILE_ERROR(read("a.tsv", "text1\ttext2\tscore\na\tb\n"), "line 2",
                    "has 2 columns, fewer than the first line names");
  EXPECT_FILE_ERROR(read("a.tsv", "a\tb\t1\n\nc\td\n"), "line 3",
                    "has no score, but line 1 has one; either all pairs have one, or none");
  EXPECT_FILE_ERROR(read("a.tsv", "a\tb\nc\td\t1\n"), "line 2", "has a score, but line 1 has none");
  EXPECT_FILE_ERROR(read("a.tsv", "a\tb\tnan\n"), "line 1", "its score is not a number");
  EXPECT_FILE_ERROR(read("a.tsv", "a\tb\tinf\n"), "line 1", "its score is not a number");
  EXPECT_FILE_ERROR(read("a.tsv", "a\tb\tmuch\n"), "line 1", "\"much\" is not a score, expected a number");
  EXPECT_FILE_ERROR(read("a.tsv", "a\tb\t\x1b[2J" + std::string(5000, 'x')), "line 1", "is not a score");
  EXPECT_FILE_ERROR(read("a.tsv", "a\tb\t4.2\n"), "line 1",
                    "its score 4.2 is not from -1 to 1; scores are divided by data.score_max");
  EXPECT_FILE_ERROR(read("a.tsv", "a\t \t1\n"), "line 1", "has an empty sentence");
  EXPECT_FILE_ERROR(read("a.tsv", "a\t\xff\n"), "line 1", "is not UTF-8");
  EXPECT_FILE_ERROR(read("a.jsonl", "{\"sentence1\": \"a\"}\n"), "line 1", "has no sentence2");
  EXPECT_FILE_ERROR(read("a.jsonl", "{\"sentence1\": 1}\n"), "line 1", "sentence1: expected a string");
  EXPECT_FILE_ERROR(read("a.jsonl", "{\"sentence1\": \"a\", \"sentence2\": \"b\", \"score\": \"high\"}"),
                    "line 1", "score: expected a number");
  EXPECT_FILE_ERROR(read("a.jsonl", "{\"sentence1\": \"a\", \"sentence2\": \"b\"}\n[]\n"), "line 2",
                    "an object");
  EXPECT_FILE_ERROR(read("a.jsonl", "not json\n"), "line 1", "");
}

}  // namespace
}  // namespace attend::learn
