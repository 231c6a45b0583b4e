// Rollout and flow, against the formulas in full: a product of matrices, and the smallest of all cuts.
#include <attend/lens.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "lens/golden_reading.h"
#include "lens/max_flow.h"

namespace attend {
namespace {

using Matrix = std::vector<std::vector<double>>;

// (mean over heads + identity) / 2 of each layer.
std::vector<Matrix> layers_of(const Reading& reading) {
  const auto n = static_cast<std::size_t>(reading.size()), heads = static_cast<std::size_t>(reading.heads());
  std::vector<Matrix> layers;
  for (std::int64_t number = 1; number <= reading.layers(); ++number) {
    const Reading::Layer& layer = reading.layer(number);
    const Tensor weights = attention_rows(layer.q, layer.k, layer.options, Stage::weights, {}, layer.state);
    Matrix matrix(n, std::vector<double>(n));
    for (std::size_t h = 0; h < heads; ++h) {
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j)
          matrix[i][j] += 0.5 * static_cast<double>(weights.values<float>()[(h * n + i) * n + j]) /
                          static_cast<double>(heads);
      }
    }
    for (std::size_t i = 0; i < n; ++i) matrix[i][i] += 0.5;
    layers.push_back(matrix);
  }
  return layers;
}

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix result(a.size(), std::vector<double>(b.front().size()));
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t k = 0; k < b.size(); ++k) {
      for (std::size_t j = 0; j < b.front().size(); ++j) result[i][j] += a[i][k] * b[k][j];
    }
  }
  return result;
}

class Paths : public testing::TestWithParam<const char*> {
 protected:
  GoldenModel golden_{GetParam()};
  TextModel model_ = golden_.load();
};

TEST_P(Paths, RolloutIsTheProductOfTheLayers) {
  const Reading reading(model_, "The banks of the river, money is the bank.");
  const std::vector<Matrix> layers = layers_of(reading);
  const std::vector<Word> tokens = single_tokens(reading);
  for (const std::int64_t last : {1, 2}) {
    const Matrix expected = last == 1 ? layers[0] : product(layers[1], layers[0]);
    const LensQuery query{.method = LensMethod::rollout, .heads = {.layer = last}};
    const Tensor map = lens_map(reading, query, tokens);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const std::vector<double> row = lens_row(reading, query, tokens, i);
      for (std::size_t j = 0; j < tokens.size(); ++j) {
        EXPECT_NEAR(map.values<double>()[i * tokens.size() + j], expected[i][j], 1e-6);
        EXPECT_NEAR(row[j], expected[i][j], 1e-6);
      }
    }
  }
  const LensQuery whole{.method = LensMethod::rollout};
  for (std::size_t w = 0; w < reading.words().size(); ++w) {
    double sum = 0;
    for (const double share : lens_row(reading, whole, reading.words(), w)) sum += share;
    EXPECT_NEAR(sum, 1, 1e-6);
  }
}

// The most that can flow is the least that a cut lets through (Ford and Fulkerson): here every cut is tried.
double smallest_cut(const std::vector<Matrix>& layers, std::size_t query, std::size_t first,
                    std::size_t last) {
  const std::size_t n = layers[0].size();
  double smallest = 1e9;
  for (std::size_t sides = 0; sides < std::size_t{1} << (2 * n); ++sides) {
    const auto near_source = [&](std::size_t layer, std::size_t token) {
      return (sides >> (layer * n + token) & 1) != 0;
    };
    double cut = 0;
    for (std::size_t k = 0; k < n; ++k) {
      if (!near_source(1, k)) cut += layers[1][query][k];
      for (std::size_t j = 0; j < n; ++j) {
        if (near_source(1, k) && !near_source(0, j)) cut += layers[0][k][j];
      }
      if (near_source(0, k) && k >= first && k < last)
        cut += 1e9;  // the target is on the far side of the cut
    }
    smallest = std::min(smallest, cut);
  }
  return smallest;
}

TEST_P(Paths, FlowIsTheSmallestCut) {
  const Reading reading(model_, "banks the");  // five tokens
  const std::vector<Matrix> layers = layers_of(reading);
  const LensQuery query{.method = LensMethod::flow};
  const std::vector<Word> tokens = single_tokens(reading);
  ASSERT_EQ(tokens.size(), 5u);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::vector<double> row = lens_row(reading, query, tokens, i);
    for (std::size_t j = 0; j < tokens.size(); ++j)
      EXPECT_NEAR(row[j], smallest_cut(layers, i, j, j + 1), 1e-6) << i << " from " << j;
  }
  // A word is one source of all its tokens, and the mean over those that ask.
  const std::vector<double> row = lens_row(reading, query, reading.words(), 1);
  for (std::size_t w = 0; w < reading.words().size(); ++w) {
    const auto first = static_cast<std::size_t>(reading.words()[w].first_token);
    const auto last = static_cast<std::size_t>(reading.words()[w].last_token);
    EXPECT_NEAR(row[w], 0.5 * (smallest_cut(layers, 1, first, last) + smallest_cut(layers, 2, first, last)),
                1e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(Lens, Paths, testing::Values("bert", "mpnet", "gpt2"));

TEST(MaxFlow, GoesBackWhereThatHelps) {
  lens::FlowNetwork network(4);  // the shortest first path 0-1-2-3 must be undone in part
  network.add_pipe(0, 1, 1);
  network.add_pipe(0, 2, 1);
  network.add_pipe(1, 2, 1);
  network.add_pipe(1, 3, 1);
  network.add_pipe(2, 3, 1);
  EXPECT_DOUBLE_EQ(network.max_flow(0, 3), 2);
  EXPECT_DOUBLE_EQ(network.max_flow(0, 3), 2);
  EXPECT_DOUBLE_EQ(network.max_flow(3, 0), 0);
}

TEST(Paths, RefuseWhatIsNotAPath) {
  const GoldenModel golden("bert");
  const Reading reading(golden.load(), "the bank");
  const auto refusal = [&](const auto& call) -> std::string {
    try {
      call();
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_EQ(refusal([&] {
              lens_map(reading, {.method = LensMethod::rollout, .heads = {.layer = 1, .head = 1}},
                       reading.words());
            }),
            "[lens] rollout follows paths through all heads of every layer, not one head");
  EXPECT_EQ(refusal([&] { lens_map(reading, {.method = LensMethod::flow}, reading.words()); }),
            "[lens] flow is found for one word at a time; choose one to look at closely");
}

}  // namespace
}  // namespace attend
