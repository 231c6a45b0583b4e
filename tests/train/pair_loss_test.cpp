#include "train/pair_loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>

#include "base/random.h"
#include "support/compare.h"
#include "support/refuses.h"

namespace attend::train {
namespace {

constexpr std::int64_t kPairs = 5, kWidth = 7;
constexpr double kWeight = 0.25;

Tensor random_vectors(std::uint64_t seed) {
  Tensor x(DType::f64, {kPairs, kWidth});
  for (std::size_t i = 0; i < x.values<double>().size(); ++i) {
    x.values<double>()[i] = static_cast<float>(normal_at(seed, i));  // the same in f32
  }
  return x;
}

const std::vector<double> kScores{0.9, -0.2, 0, 1, 0.4};
// Pairs 0 and 3 have the same first text, pairs 1 and 4 the same second.
const std::vector<std::int64_t> kFirst{7, 8, 9, 7, 5}, kSecond{1, 2, 3, 4, 2};

using Loss = std::function<double(ConstTensorView, ConstTensorView, double, TensorView, TensorView)>;

struct NamedLoss {
  const char* name;
  Loss loss;
};
std::ostream& operator<<(std::ostream& out, const NamedLoss& loss) { return out << loss.name; }

std::vector<NamedLoss> losses() {
  const auto contrast = [](const Contrast& how) {
    return [how](ConstTensorView a, ConstTensorView b, double w, TensorView da, TensorView db) {
      return contrastive(a, b, how, w, da, db);
    };
  };
  return {{"regression", [](ConstTensorView a, ConstTensorView b, double w, TensorView da,
                            TensorView db) { return cosine_regression(a, b, kScores, w, da, db); }},
          {"contrastive", contrast({.scale = 20})},
          {"shared_texts", contrast({.scale = 5, .first_texts = kFirst, .second_texts = kSecond})}};
}

class PairLosses : public testing::TestWithParam<NamedLoss> {};
INSTANTIATE_TEST_SUITE_P(All, PairLosses, testing::ValuesIn(losses()),
                         [](const auto& one) { return std::string(one.param.name); });

TEST_P(PairLosses, GradientsAgreeWithFiniteDifferences) {
  const Loss& loss = GetParam().loss;
  Tensor sides[] = {random_vectors(1), random_vectors(2)};
  Tensor found[] = {Tensor(DType::f64, {kPairs, kWidth}), Tensor(DType::f64, {kPairs, kWidth})};
  Tensor narrow[] = {Tensor(DType::f32, {kPairs, kWidth}), Tensor(DType::f32, {kPairs, kWidth})};
  loss(sides[0], sides[1], kWeight, found[0], found[1]);
  loss(copy_of(sides[0], DType::f32), copy_of(sides[1], DType::f32), kWeight, narrow[0], narrow[1]);
  for (const int side : {0, 1}) {
    EXPECT_LT(max_abs_difference(narrow[side], found[side]), 1e-6);
    for (std::size_t i = 0; i < kPairs * kWidth; ++i) {
      double& value = sides[side].values<double>()[i];
      const double before = value;
      const auto at = [&](double steps) {
        value = before + steps * 1e-4;
        return loss(sides[0], sides[1], 1, {}, {});
      };
      const double near = at(1) - at(-1), far = at(2) - at(-2);
      value = before;
      EXPECT_NEAR(found[side].values<double>()[i], kWeight * (8 * near - far) / 12e-4, 1e-9) << side << i;
    }
  }
}

TEST(PairLoss, ValuesMatchTheirFormulas) {
  const Tensor a = random_vectors(1), b = random_vectors(2);
  const Tensor table = cosines(a, b);
  const std::vector<double> own = pair_cosines(a, b);
  const auto cosine = [&](std::size_t i, std::size_t j) { return table.values<double>()[i * kPairs + j]; };
  double squares = 0, surprises = 0;
  for (std::size_t i = 0; i < kPairs; ++i) {
    EXPECT_EQ(own[i], cosine(i, i));
    squares += (own[i] - kScores[i]) * (own[i] - kScores[i]);
    double along = 0, across = 0;
    for (std::size_t j = 0; j < kPairs; ++j) {
      along += std::exp(20 * cosine(i, j));
      across += std::exp(20 * cosine(j, i));
    }
    surprises += (std::log(along) + std::log(across)) / 2 - 20 * own[i];
  }
  EXPECT_NEAR(cosine_regression(a, b, kScores, 1), squares, 1e-12);
  EXPECT_NEAR(contrastive(a, b, {}, 1), surprises, 1e-10);
}

// A pair that shares a text with another is not a wrong answer to it: with no others, each is certain.
TEST(PairLoss, PairsThatShareATextAreNotToldApart) {
  const std::vector<std::int64_t> same(kPairs, 1);
  std::vector<std::int64_t> other(kPairs);
  std::iota(other.begin(), other.end(), 0);
  const Tensor a = random_vectors(1), b = random_vectors(2);
  EXPECT_NEAR(contrastive(a, b, {.first_texts = same, .second_texts = other}, 1), 0, 1e-12);
  EXPECT_GT(contrastive(a, b, {.first_texts = other, .second_texts = other}, 1), 1);
}

TEST(PairLoss, AVectorOfZerosHasNoDirection) {
  Tensor a = random_vectors(1), d_a(DType::f64, {kPairs, kWidth}), d_b(DType::f64, {kPairs, kWidth});
  const Tensor b = random_vectors(2);
  for (std::size_t e = 0; e < kWidth; ++e) a.values<double>()[e] = 0;
  EXPECT_EQ(pair_cosines(a, b)[0], 0);
  cosine_regression(a, b, kScores, 1, d_a, d_b);
  for (std::size_t e = 0; e < kWidth; ++e) EXPECT_EQ(d_a.values<double>()[e], 0);
  for (const double value : d_b.values<double>()) EXPECT_TRUE(std::isfinite(value));
}

TEST(PairLoss, Refuses) {
  const Tensor a = random_vectors(1), short_one(DType::f64, {kPairs - 1, kWidth});
  const std::vector<double> two{1, 0};
  EXPECT_REFUSES(cosine_regression(a, a, two, 1), "[pair_loss] got 2 scores for 5 pairs");
  EXPECT_REFUSES(contrastive(a, short_one, {}, 1), "[pair_loss] 5 and 4 vectors do not make pairs");
  EXPECT_REFUSES(contrastive(a, a, {.first_texts = std::span(kFirst).first(2)}, 1),
                 "[pair_loss] got 2 numbers of texts for 5 pairs");
}

}  // namespace
}  // namespace attend::train
