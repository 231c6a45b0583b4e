#include "learn/pair_measures.h"

#include <gtest/gtest.h>

#include <cmath>

namespace attend::learn {
namespace {

TEST(MeanRanks, EqualValuesShareTheMean) {
  EXPECT_EQ(mean_ranks(std::vector<double>{0.3, 0.1, 0.3, 0.3, 0.7, 0.1}),
            (std::vector<double>{4, 1.5, 4, 4, 6, 1.5}));
  EXPECT_TRUE(mean_ranks({}).empty());
}

// Expected values are those of scipy.stats.spearmanr and pearsonr.
TEST(Spearman, AgreesWithKnownValues) {
  const std::vector<double> x{0.1, 0.4, 0.35, 0.8, 0.8, 0.05}, y{0, 1, 2, 5, 3, 3};
  EXPECT_NEAR(spearman(x, y), 0.45588235294117646, 1e-12);
  EXPECT_NEAR(pearson(x, y), 0.6352689006137137, 1e-12);
  std::vector<double> cubes;
  for (const double value : x) cubes.push_back(value * value * value);
  EXPECT_NEAR(spearman(x, cubes), 1, 1e-12);
  EXPECT_TRUE(std::isnan(spearman(x, std::vector<double>(6, 1.0))));
}

TEST(SearchPartners, RanksThemBothWays) {
  // cosines: first 0 has its partner nearest, first 1 after one other; the other way round, the same.
  const Tensor first = Tensor::from<float>({2, 2}, {1, 0, 0.8F, 0.6F});
  const Tensor second = Tensor::from<float>({2, 2}, {2, 0, 0, 3});
  const PartnerSearch found = search_partners(first, second, {});
  EXPECT_DOUBLE_EQ(found.nearest, 0.75);  // second 1 finds first 1
  EXPECT_DOUBLE_EQ(found.reciprocal_rank, (1 + 1 + 0.5 + 1) / 4);
  const std::vector<std::int64_t> same{4, 4}, other{0, 1};
  EXPECT_DOUBLE_EQ(search_partners(first, second, {.first_texts = same, .second_texts = other}).nearest, 1);
}

TEST(SearchPartners, VectorsThatAreAllAlikeFindNothing) {
  const Tensor ones = Tensor::from<float>({3, 2}, {1, 1, 1, 1, 1, 1});
  const PartnerSearch found = search_partners(ones, ones, {});
  EXPECT_EQ(found.nearest, 0);
  EXPECT_DOUBLE_EQ(found.reciprocal_rank, 1.0 / 3);
}

}  // namespace
}  // namespace attend::learn
