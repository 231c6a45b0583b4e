// A training that cannot fit into memory is refused before it takes any, by the key that makes it too large.
#include "learn/memory_need.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "learn/trainer.h"
#include "support/temporary_folder.h"

namespace attend::learn {
namespace {

using Settings = std::vector<std::pair<const char*, const char*>>;

struct Complaint {
  std::string key, rule;
};

Complaint start_with(const TemporaryFolder& folder, const char* task, const Settings& settings) {
  Config config = default_config(task);
  for (const auto& [key, value] : settings) set_key(config, key, value);
  try {
    Trainer::start(config, folder / "run");
  } catch (const ConfigError& error) {
    return {error.key, error.what()};
  }
  return {};
}

TEST(MemoryNeed, NamesTheKeyThatAddsMost) {
  const TemporaryFolder folder;
  const std::string text = folder.write("text.txt", std::string(100000, 'x')).string();
  struct Case {
    const char *task, *key;
    Settings settings;
  };
  const char* const kMost = "16777216";
  const Case cases[] = {
      {"recall", "model.hidden", {{"model.hidden", kMost}}},
      {"recall", "model.inner", {{"model.inner", kMost}, {"model.hidden", "1024"}, {"model.layers", "100"}}},
      {"recall",
       "model.layers",
       {{"model.layers", "4096"}, {"model.hidden", "4096"}, {"model.inner", "65536"}}},
      {"recall", "training.batch", {{"training.batch", kMost}, {"data.distance", "10000"}}},
      {"recall", "data.distance", {{"data.distance", "16000000"}, {"training.batch", "4096"}}},
      {"copy", "data.length", {{"data.length", "8388608"}, {"training.batch", "4096"}}},
      {"reverse", "training.batch", {{"training.batch", kMost}, {"model.hidden", "1024"}}},
      {"text",
       "training.batch",
       {{"data.file", text.c_str()}, {"training.batch", kMost}, {"data.length", "4096"}}},
      {"masked", "model.hidden", {{"data.file", text.c_str()}, {"model.hidden", kMost}}},
  };
  for (const Case& one : cases) {
    const Complaint found = start_with(folder, one.task, one.settings);
    EXPECT_EQ(found.key, one.key) << one.task << ": " << found.rule;
    EXPECT_NE(found.rule.find(" is too large here: the training would take "), std::string::npos)
        << found.rule;
    EXPECT_NE(found.rule.find(" sequences), but this process can have at most "), std::string::npos)
        << found.rule;
    EXPECT_FALSE(std::filesystem::exists(folder / "run"));
  }
}

// What a reader of the folder would refuse is not trained.
TEST(MemoryNeed, NoSequenceIsLongerThanAModelMayBe) {
  const TemporaryFolder folder;
  const Complaint copied =
      start_with(folder, "copy", {{"data.length", "8388609"}, {"model.hidden", "1"}, {"model.heads", "1"}});
  EXPECT_EQ(copied.key, "data.length");
  EXPECT_EQ(copied.rule, "it makes 16777218 positions, but a model has at most 16777216");
  EXPECT_EQ(start_with(folder, "recall", {{"data.distance", "16777216"}}).key, "data.distance");
}

// Batches of a step are drawn one after the other, so there may be many.
TEST(MemoryNeed, DoesNotDependOnTheBatchesOfAStep) {
  Config config = default_config("recall");
  config.accumulate = 1 << 20;
  EXPECT_NO_THROW(
      require_memory(config, model::describe({.vocabulary = 100, .length = 17}), {.sequences = 64}));
}

}  // namespace
}  // namespace attend::learn
