// What the lens shows of a model with an encoder and a decoder: source and target as one text.
#include <attend/lens.h>
#include <attend/lens_heads.h>
#include <attend/lens_tiles.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/random.h"
#include "learn/model_folder.h"
#include "learn/task.h"
#include "support/refuses.h"
#include "support/temporary_folder.h"

namespace attend::learn {
namespace {

class TwoParts : public testing::Test {
 protected:
  TwoParts() : task_(make_task(config())) {
    Config completed = config();
    task_->complete(completed.model);
    model_.emplace(task_->description(completed), train::TrainingOptions{});
    model_->parameters().initialise(5);
    save_model_folder(folder_.path(), *model_, task_->tokenizer_json());
  }

  static Config config() {
    Config config = default_config("reverse");
    config.length = 6;
    config.model.layers = 2;
    config.model.hidden = 16;
    config.model.heads = 2;
    config.model.inner = 24;
    return config;
  }
  Reading read(const std::string& second = {}) const {
    return {TextModel::load(folder_.path().string()), "s3 s1 s4 s1 s5 s9", second};
  }

  TemporaryFolder folder_;
  std::unique_ptr<Task> task_;
  std::optional<train::Model> model_;
};

double sum_of(std::span<const double> row) { return std::accumulate(row.begin(), row.end(), 0.0); }

TEST_F(TwoParts, TheModelWritesATargetThatIsNotGiven) {
  std::vector<std::int32_t> target{12};  // "<"
  while (target.size() < 6) {
    train::Batch batch{.source = {.count = 1, .length = 6, .ids = {3, 1, 4, 1, 5, 9}}};
    batch.tokens = {.count = 1, .length = static_cast<std::int64_t>(target.size()), .ids = target};
    batch.targets.assign(target.size(), kNoTarget);
    const Tensor logits = model_->logits(batch, static_cast<std::int64_t>(target.size()) - 1);
    const std::span<const float> values = logits.values<float>();
    target.push_back(
        static_cast<std::int32_t>(std::max_element(values.begin(), values.end()) - values.begin()));
  }
  const Reading reading = read();
  const std::vector<std::int32_t>& ids = reading.tokens().ids;
  EXPECT_EQ(std::vector(ids.begin(), ids.begin() + 6), (std::vector<std::int32_t>{3, 1, 4, 1, 5, 9}));
  EXPECT_EQ(std::vector(ids.begin() + 6, ids.end()), target);
}

TEST_F(TwoParts, TokensLookInTheLayersOfTheirPart) {
  const Reading reading = read("s9 s5");  // with "<" nine tokens
  ASSERT_EQ(reading.layers(), 6);
  const std::vector<std::string> names{"encoder 1", "encoder 2", "decoder 1",
                                       "cross 1",   "decoder 2", "cross 2"};
  const std::vector<Word> units = single_tokens(reading);
  for (const LensMethod method : {LensMethod::raw, LensMethod::norm}) {
    for (std::int64_t layer = 1; layer <= 6; ++layer) {
      EXPECT_EQ(reading.layer_name(layer), names[static_cast<std::size_t>(layer - 1)]);
      const TokenRange rows = reading.looking(layer), keys = reading.looked_at(layer);
      EXPECT_EQ(rows.size(), layer <= 2 ? 6 : 3);
      EXPECT_EQ(keys.size(), layer == 3 || layer == 5 ? 3 : 6);
      const Tensor map = lens_map(reading, {.method = method, .heads = {.layer = layer}}, units);
      for (std::int64_t i = 0; i < 9; ++i) {
        const auto row = map.values<double>().subspan(static_cast<std::size_t>(i * 9), 9);
        EXPECT_NEAR(sum_of(row), rows.contains(i) ? 1 : 0, 1e-6) << layer << ": " << i;
        const auto seen =
            row.subspan(static_cast<std::size_t>(keys.first), static_cast<std::size_t>(keys.size()));
        EXPECT_NEAR(sum_of(seen), sum_of(row), 1e-12) << layer << ": " << i;
      }
    }
    // Over all layers a row is the mean of those in which its token looks.
    const Tensor all = lens_map(reading, {.method = method}, units);
    for (std::size_t i = 0; i < 9; ++i) EXPECT_NEAR(sum_of(all.values<double>().subspan(i * 9, 9)), 1, 1e-6);
  }
}

TEST_F(TwoParts, WhatArrivesAtTheTargetCameFromBoth) {
  const Reading reading = read("s9 s5");
  const Tensor map = lens_map(reading, {.method = LensMethod::rollout}, single_tokens(reading));
  for (std::size_t i = 0; i < 9; ++i) {
    const auto row = map.values<double>().subspan(i * 9, 9);
    EXPECT_NEAR(sum_of(row), 1, 1e-6);
    EXPECT_EQ(sum_of(row.last(3)) > 0.05, i >= 6) << i;
    EXPECT_GT(sum_of(row.first(6)), 0.05) << i;
  }
  // Looking at a source always brings something, and no more can flow than there is.
  const std::vector<double> flow = lens_row(reading, {.method = LensMethod::flow}, single_tokens(reading), 8);
  EXPECT_GT(sum_of(std::span(flow).first(6)), 0);
  for (const double share : flow) EXPECT_LE(share, 1 + 1e-9);
}

TEST_F(TwoParts, TilesAreTheMap) {
  const Reading reading = read("s9 s5");
  const std::vector<Word> units = single_tokens(reading);
  for (const LensMethod method : {LensMethod::raw, LensMethod::norm, LensMethod::rollout}) {
    const LensQuery query{.method = method};
    const Tensor map = lens_map(reading, query, units);
    LensTiles tiles(reading, query, units);
    for (std::size_t i = 0; i < 9; ++i) {
      const std::vector<double> row = tiles.row(i);
      for (std::size_t j = 0; j < 9; ++j)
        EXPECT_NEAR(row[j], map.values<double>()[i * 9 + j], 2e-6) << i << j;
    }
  }
}

TEST_F(TwoParts, HeadsHaveHabitsWhereTheyLook) {
  for (const HeadProfile& profile : profile_heads(read("s9 s5"))) {
    EXPECT_GT(profile.broad, 0) << profile.layer;
    EXPECT_LE(profile.broad, 1 + 1e-6) << profile.layer;
  }
}

TEST_F(TwoParts, EachPartIsCutSeparately) {
  const Reading reading(TextModel::load(folder_.path().string()), "s1 s2 s3 s4 s5 s6 s7 s8",
                        "s8 s7 s6 s5 s4 s3 s2 s1");
  EXPECT_EQ(reading.size(), 12);
  EXPECT_EQ(reading.tokens().dropped, 2 + 3);
  EXPECT_EQ(reading.looking(1).size(), 6);
}

TEST_F(TwoParts, WhatMakesNoSenseIsRefused) {
  const TextModel model = TextModel::load(folder_.path().string());
  TokenBatch two;
  two.add(std::vector<std::int32_t>{1, 2});
  two.add(std::vector<std::int32_t>{3});
  EXPECT_TRUE(refuses([&] { model.transformer().forward(two); }, "one at a time"));
  TokenBatch mixed;
  mixed.add(std::vector<std::int32_t>{1, 2, 3}, std::vector<std::int32_t>{0, 1, 0});
  EXPECT_TRUE(refuses([&] { model.transformer().forward(mixed); },
                      "a token of the source comes after one of the target"));
  TokenBatch large;
  large.add(std::vector<std::int32_t>(9, 1), std::vector<std::int32_t>(9, 1));
  EXPECT_TRUE(refuses([&] { model.transformer().forward(large); }, "the target has 9 tokens"));
}

}  // namespace
}  // namespace attend::learn
