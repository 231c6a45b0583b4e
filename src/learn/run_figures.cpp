#include "learn/run_figures.h"

#include <algorithm>

namespace attend::learn {

draw::Plot loss_plot(const Trainer& trainer) {
  draw::Plot plot;
  plot.title = "Loss of " + trainer.config().task;
  plot.x.label = "step";
  plot.y.label = "loss";
  draw::Series learned, held;
  learned.name = "training";
  held.name = "validation";
  // At most 200 points, each the mean of its stretch: single batches jump.
  const auto& losses = trainer.losses();
  const std::size_t stretch = std::max<std::size_t>(1, losses.size() / 200);
  for (std::size_t first = 0; first + stretch <= losses.size(); first += stretch) {
    double sum = 0;
    for (std::size_t i = first; i < first + stretch; ++i) sum += losses[i].second;
    learned.x.push_back(static_cast<double>(losses[first + stretch - 1].first));
    learned.y.push_back(sum / static_cast<double>(stretch));
  }
  for (const Evaluation& evaluation : trainer.evaluations()) {
    held.x.push_back(static_cast<double>(evaluation.step));
    held.y.push_back(evaluation.loss);
  }
  plot.series = {learned, held};
  return plot;
}

bool Film::has_answers() const {
  return std::any_of(example_.answers.begin(), example_.answers.end(),
                     [](std::int64_t key) { return key >= 0; });
}

std::size_t Film::best() const {
  const std::vector<ExampleMap>& maps = frames_.back().maps;
  const auto less = [](const ExampleMap& a, const ExampleMap& b) { return a.on_answers < b.on_answers; };
  return static_cast<std::size_t>(std::max_element(maps.begin(), maps.end(), less) - maps.begin());
}

double Film::weight_on_answers() const { return frames_.back().maps[best()].on_answers; }

std::string Film::head_name() const {
  const ExampleMap& map = frames_.back().maps[best()];
  const std::string layer = "layer " + std::to_string(frames_.back().maps.back().layer + 1);
  if (!has_answers()) return layer + ", mean of its heads";
  return "layer " + std::to_string(map.layer + 1) + ", head " + std::to_string(map.head + 1);
}

draw::Heatmap Film::map(const Frame& frame) const {
  draw::Heatmap figure;
  figure.rows = example_.row_labels.size();
  figure.columns = example_.column_labels.size();
  figure.row_labels = example_.row_labels;
  figure.column_labels = example_.column_labels;
  figure.row_title = "query";
  figure.column_title = "key";
  figure.value_label = "weight";
  if (has_answers()) {
    figure.values = frame.maps[best()].weights;
    return figure;
  }
  figure.values.assign(figure.rows * figure.columns, 0);
  double heads = 0;
  for (const ExampleMap& one : frame.maps) heads += one.layer == frame.maps.back().layer ? 1 : 0;
  for (const ExampleMap& one : frame.maps) {
    if (one.layer != frame.maps.back().layer) continue;
    for (std::size_t i = 0; i < figure.values.size(); ++i) figure.values[i] += one.weights[i] / heads;
  }
  return figure;
}

draw::Heatmap Film::last() const {
  draw::Heatmap figure = map(frames_.back());
  figure.title = "Attention after step " + std::to_string(frames_.back().step) + ": " + head_name();
  return figure;
}

draw::FilmStrip Film::strip() const {
  draw::FilmStrip strip;
  strip.title = "Attention while it learns: " + head_name();
  strip.value_label = "weight";
  for (const Frame& frame : frames_) {
    strip.frames.push_back(map(frame));
    strip.frames.back().title = "step " + std::to_string(frame.step);
  }
  return strip;
}

}  // namespace attend::learn
