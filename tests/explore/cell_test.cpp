// One weight and its parts, for every family, including the masks of GPT-2 and the bias of MPNet.
#include <gtest/gtest.h>

#include <cmath>

#include "explore/reading_json.h"
#include "lens/golden_reading.h"

namespace attend::explore {
namespace {

class Cells : public testing::TestWithParam<const char*> {
 protected:
  GoldenModel golden_{GetParam()};
  TextModel model_ = golden_.load();
  Reading reading_{model_, "the banks of the river, money", {}, {.keep = Keep::attention}};
};

TEST_P(Cells, AWeightIsMadeOfItsParts) {
  const std::int64_t n = reading_.size();
  const bool causal = model_.transformer().description().is_causal();
  for (const std::int64_t query : {std::int64_t{0}, n / 2, n - 1}) {
    const std::vector<double> row = softmax_row(reading_, 2, 1, query);
    ASSERT_EQ(row.size(), static_cast<std::size_t>(2 * n));
    for (std::int64_t key = 0; key < n; ++key) {
      const auto cell = cell_json(reading_, 2, 1, query, key, 0.5);
      const double weight = cell["weight"];
      EXPECT_NEAR(weight, row[static_cast<std::size_t>(n + key)], 1e-6);
      EXPECT_EQ(cell["masked"], causal && key > query);
      if (cell["masked"]) {
        EXPECT_TRUE(cell["score"].is_null());
        EXPECT_EQ(weight, 0);
        continue;
      }
      const double score = cell["score"], bias = cell["bias"], scale = cell["scale"];
      double product = 0;
      for (std::size_t i = 0; i < cell["q"].size(); ++i)
        product += cell["q"][i].get<double>() * cell["k"][i].get<double>();
      EXPECT_NEAR(score, scale * product + bias, 1e-5);
      EXPECT_NEAR(weight, std::exp(score - cell["max"].get<double>()) / cell["sum"].get<double>(), 1e-6);
      EXPECT_EQ(cell["v"].size(), cell["q"].size());
      EXPECT_TRUE(bias == 0 || std::string(GetParam()) == "mpnet");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Explore, Cells, testing::ValuesIn(kFamilies), [](const auto& name) {
  std::string text = name.param;
  std::erase(text, '-');
  return text;
});

}  // namespace
}  // namespace attend::explore
