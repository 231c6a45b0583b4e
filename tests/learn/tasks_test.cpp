#include <attend/tokenizer.h>
#include <gtest/gtest.h>

#include <set>

#include "learn/task.h"
#include "support/cpu_time.h"

namespace attend::learn {
namespace {

Config small_task(const char* task) {
  Config config = default_config(task);
  config.batch = 3;
  config.pairs = 5;
  config.keys = 7;
  config.values = 4;
  config.length = 6;
  config.symbols = 4;
  return config;
}

model::OwnModel shape_of(const Task& task) {
  model::OwnModel shape;
  task.complete(shape);
  return shape;
}

// Reads the words of a sequence as a person who knows the task would, and finds the answer.
TEST(Recall, TheAnswerIsTheValueOfTheKeyThatIsAskedFor) {
  const auto task = make_task(small_task("recall"));
  const Tokenizer words = Tokenizer::from_json(task->tokenizer_json());
  EXPECT_EQ(words.vocabulary_size(), shape_of(*task).vocabulary);
  const train::Batch batch = task->batch(0);
  ASSERT_EQ(batch.tokens.ids.size(), 18u);
  for (std::size_t s = 0; s < 3; ++s) {
    const auto word = [&](std::size_t i) { return std::string(words.token(batch.tokens.ids[s * 6 + i])); };
    std::set<char> keys;
    std::string answer;
    for (std::size_t i = 0; i < 5; ++i) {
      keys.insert(word(i)[0]);
      if (word(i)[0] == word(5)[0]) answer = word(i).substr(1);
      EXPECT_EQ(batch.targets[s * 6 + i], kNoTarget);
    }
    EXPECT_EQ(keys.size(), 5u);
    EXPECT_EQ(word(5)[1], '?');
    EXPECT_EQ(words.token(batch.targets[s * 6 + 5]), answer);
  }
  EXPECT_EQ(words.encode("a0 b3 c? a0").ids.size(), 4u);
}

// Filler words come between the pairs and the question.
TEST(Recall, ADistanceIsFilledWithOtherWords) {
  Config config = small_task("recall");
  config.distance = 4;
  const auto task = make_task(config);
  const Tokenizer words = Tokenizer::from_json(task->tokenizer_json());
  EXPECT_EQ(words.vocabulary_size(), shape_of(*task).vocabulary);
  EXPECT_EQ(shape_of(*task).length, 10);
  const train::Batch batch = task->batch(0);
  std::set<std::string> fillers;
  for (std::size_t s = 0; s < 3; ++s) {
    const auto word = [&](std::size_t i) { return std::string(words.token(batch.tokens.ids[s * 10 + i])); };
    std::string answer;
    for (std::size_t i = 0; i < 5; ++i) {
      if (word(i)[0] == word(9)[0]) answer = word(i).substr(1);
    }
    for (std::size_t i = 5; i < 9; ++i) {
      fillers.insert(word(i));
      EXPECT_EQ(words.encode(word(i) + " " + word(0)).ids.size(), 2u);
    }
    EXPECT_EQ(word(9)[1], '?');
    EXPECT_EQ(words.token(batch.targets[s * 10 + 9]), answer);
    for (std::size_t i = 0; i < 9; ++i) EXPECT_EQ(batch.targets[s * 10 + i], kNoTarget);
  }
  EXPECT_GT(fillers.size(), 3u);
  for (const std::string& filler : fillers) EXPECT_GT(filler.size(), 1u);
  const Example example = *task->example();
  const auto at = static_cast<std::size_t>(example.answers.back());
  EXPECT_LT(at, 5u);
  EXPECT_EQ(example.row_labels[at][0], example.row_labels.back()[0]);
}

TEST(Tasks, ABatchIsAFunctionOfSeedAndNumber) {
  for (const char* name : {"recall", "copy", "reverse"}) {
    const auto task = make_task(small_task(name)), again = make_task(small_task(name));
    Config other = small_task(name);
    other.seed = 2;
    EXPECT_EQ(task->batch(3).tokens.ids, again->batch(3).tokens.ids);
    EXPECT_NE(task->batch(3).tokens.ids, task->batch(4).tokens.ids);
    EXPECT_NE(task->batch(3).tokens.ids, make_task(other)->batch(3).tokens.ids);
    EXPECT_NE(task->batch(0).tokens.ids, task->validation().front().tokens.ids);
  }
}

TEST(Copy, TheSecondHalfIsTheFirst) {
  const train::Batch batch = make_task(small_task("copy"))->batch(0);
  for (std::size_t s = 0; s < 3; ++s) {
    for (std::size_t i = 0; i < 6; ++i) {
      EXPECT_EQ(batch.targets[s * 12 + i], kNoTarget);
      EXPECT_EQ(batch.targets[s * 12 + 6 + i], batch.tokens.ids[s * 12 + i]);
      if (i > 0) {
        EXPECT_EQ(batch.tokens.ids[s * 12 + 6 + i], batch.targets[s * 12 + 5 + i]);
      }
    }
  }
}

TEST(Reverse, TheTargetIsTheSourceBackwards) {
  const train::Batch batch = make_task(small_task("reverse"))->batch(0);
  for (std::size_t s = 0; s < 3; ++s) {
    for (std::size_t i = 0; i < 6; ++i) {
      EXPECT_EQ(batch.targets[s * 6 + i], batch.source.ids[s * 6 + 5 - i]);
      if (i > 0) {
        EXPECT_EQ(batch.tokens.ids[s * 6 + i], batch.targets[s * 6 + i - 1]);
      }
    }
  }
}

TEST(ByteTokenizer, IdsAreBytes) {
  const Tokenizer bytes = Tokenizer::from_json(byte_tokenizer());
  const std::string text = "Ab \n\xC3\xA9";
  const Encoding encoding = bytes.encode(text);
  ASSERT_EQ(encoding.ids.size(), text.size());
  for (std::size_t i = 0; i < text.size(); ++i)
    EXPECT_EQ(encoding.ids[i], static_cast<unsigned char>(text[i]));
  EXPECT_EQ(bytes.decode(encoding.ids), text);
}

// Half a second; searching for each word among all before it took half a minute.
TEST(WordTokenizer, ManyWordsAreWrittenQuickly) {
  std::vector<std::string> words;
  for (int i = 0; i < 200000; ++i) words.push_back("s" + std::to_string(i));
  words.emplace_back("s1");  // has its last number, as a key that is set twice
  const double begin = cpu_seconds();
  const std::string json = word_tokenizer(words, "s7");
  EXPECT_LT(cpu_seconds() - begin, 10);
  EXPECT_NE(json.find("\"s0\": 0,"), std::string::npos);
  EXPECT_NE(json.find("\"s1\": 200000,"), std::string::npos);
  EXPECT_NE(json.find("\"s199999\": 199999\n"), std::string::npos);
}

}  // namespace
}  // namespace attend::learn
