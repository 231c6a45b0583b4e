// Figures of docs/training.md, drawn from what tools/recall_distance.py and tools/scale_curves.py measured.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "draw/page/svg.h"

namespace attend::draw {
namespace {

// The share of right answers, by mixer and steps ("gru 1000"), distance and rate: one for each seed.
using Rates = std::map<std::string, std::vector<double>>;
using Measured = std::map<std::string, std::map<int, Rates>>;

Measured measured(const std::string& path) {
  Measured found;
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(line, "mixer\tsteps\tdistance\trate\tseed\tparameters\tright");
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string mixer, steps, rate;
    int distance = 0, seed = 0, parameters = 0;
    double right = 0;
    words >> mixer >> steps >> distance >> rate >> seed >> parameters >> right;
    EXPECT_TRUE(words) << line;
    found[mixer + " " + steps][distance][rate].push_back(right);
  }
  return found;
}

// The learning rate with the higher mean.
double best_mean(const Rates& rates) {
  double best = 0;
  for (const auto& [rate, values] : rates) {
    best = std::max(best,
                    std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size()));
  }
  return best;
}

Figure recall_figure(const std::string& path) {
  Measured found = measured(path);
  Plot plot;
  plot.title = "Recall over a distance";
  plot.x = {"tokens from the pairs to the question", AxisScale::log2};
  plot.y = {"right answers, %", AxisScale::linear};
  for (const auto& [which, name] : {std::pair{"attention 1000", "attention, 1000 steps"},
                                    {"gru 4000", "GRU of the same size, 4000 steps"},
                                    {"gru 1000", "the same GRU, 1000 steps"}}) {
    Series series;
    series.name = name;
    for (const auto& [distance, rates] : found[which]) {
      series.x.push_back(distance + 1);
      series.y.push_back(100 * best_mean(rates));
      for (const auto& [rate, values] : rates) EXPECT_EQ(values.size(), 3u) << name << ' ' << distance;
    }
    EXPECT_GE(series.x.size(), 7u) << name;
    plot.series.push_back(series);
  }
  Figure figure;
  figure.title = "What is far away: attention and a recurrent network";
  figure.parts = {plot};
  figure.notes = {"Means of three seeds; 1000 steps at the better of two learning rates."};
  return figure;
}

// The loss on held-out data, the mean over seeds: with the scale and without, by width.
Figure scale_figure(const std::string& path) {
  std::map<std::pair<bool, int>, std::map<int, std::vector<double>>> found;
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(line, "hidden\tscaled\tseed\tstep\tloss\tright");
  while (std::getline(file, line)) {
    std::istringstream words(line);
    int hidden = 0, scaled = 0, seed = 0, step = 0;
    double loss = 0;
    words >> hidden >> scaled >> seed >> step >> loss;
    EXPECT_TRUE(words) << line;
    found[{scaled == 0, hidden}][step].push_back(loss);
  }
  Plot plot;
  plot.title = "Learning recall with one head";
  plot.x = {"step", AxisScale::linear};
  plot.y = {"loss", AxisScale::linear};
  for (const auto& [which, losses] : found) {
    Series series;
    series.name =
        "d = " + std::to_string(which.second) + (which.first ? ", scores as they are" : ", divided by √d");
    for (const auto& [step, values] : losses) {
      EXPECT_EQ(values.size(), 3u) << series.name << ' ' << step;
      series.x.push_back(step);
      series.y.push_back(std::accumulate(values.begin(), values.end(), 0.0) /
                         static_cast<double>(values.size()));
    }
    EXPECT_EQ(series.x.size(), 30u) << series.name;
    plot.series.push_back(series);
  }
  EXPECT_EQ(plot.series.size(), 4u);
  Figure figure;
  figure.title = "With 1/√d and without";
  figure.parts = {plot};
  figure.notes = {
      "Means of three seeds, on what is never learned from. Ten answers: guessing has a loss of 2.3."};
  return figure;
}

// To regenerate one, run its test with ATTEND_WRITE_GOLDEN=1, and look at the result.
void expect_drawn(const std::string& path, const std::string& svg) {
  if (std::getenv("ATTEND_WRITE_GOLDEN") != nullptr) std::ofstream(path, std::ios::binary) << svg;
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(std::string(std::istreambuf_iterator<char>(file), {}) == svg) << path;
}

TEST(Svg, RecallOverDistanceIsWhatWasMeasured) {
  expect_drawn(DOCS_IMAGES "/recall-distance.svg",
               figure_svg(recall_figure(DOCS_IMAGES "/recall-distance.tsv")));
}

TEST(Svg, ScaleCurvesAreWhatWasMeasured) {
  expect_drawn(DOCS_IMAGES "/scale-curves.svg", figure_svg(scale_figure(DOCS_IMAGES "/scale-curves.tsv")));
}

}  // namespace
}  // namespace attend::draw
