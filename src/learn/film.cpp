#include "learn/film.h"

#include <algorithm>

namespace attend::learn {
namespace {

constexpr std::int64_t kFilmParts = 32;
constexpr double kMostFilmNumbers = 1 << 23;

// The number of layers in which the example shows something.
std::int64_t layers_of(const Example& example, const ModelDescription& description) {
  return std::count_if(description.layers.begin(), description.layers.end(),
                       [&](const LayerDescription& layer) { return layer.kind == example.kind; });
}

bool any_answer(const Example& example) {
  return std::any_of(example.answers.begin(), example.answers.end(),
                     [](std::int64_t key) { return key >= 0; });
}

}  // namespace

std::vector<std::int64_t> snapshot_steps(std::int64_t steps) {
  std::vector<std::int64_t> list{0};
  for (std::int64_t part = kFilmParts; part >= 1; part /= 2) {
    const std::int64_t step = std::max<std::int64_t>(1, steps / part);
    if (step > list.back()) list.push_back(step);
  }
  return list;
}

bool Film::fits(const Example& example, const ModelDescription& description) {
  const auto frames = static_cast<double>(snapshot_steps(kFilmParts).size());
  const double maps = any_answer(example) ? static_cast<double>(layers_of(example, description)) *
                                                static_cast<double>(description.heads())
                                          : 1;
  return frames * maps * static_cast<double>(example.row_labels.size()) *
             static_cast<double>(example.column_labels.size()) <=
         kMostFilmNumbers;
}

Film::Film(Example example, const ModelDescription& description, bool watched)
    : example_(std::move(example)),
      layers_(layers_of(example_, description)),
      heads_(description.heads()),
      watched_(watched) {}

bool Film::has_answers() const { return any_answer(example_); }

// Which head looks most at the answers is known only at the end, so all are kept; without answers, their mean
// will do.
Dims Film::frame_shape() const {
  return {has_answers() ? layers_ * heads_ : 1, static_cast<std::int64_t>(example_.row_labels.size()),
          static_cast<std::int64_t>(example_.column_labels.size())};
}

void Film::take(std::int64_t step, const std::vector<ExampleMap>& maps) {
  if (step <= last_step()) return;
  std::vector<float> to;
  if (has_answers()) {
    for (const ExampleMap& one : maps) {
      for (const double weight : one.weights) to.push_back(static_cast<float>(weight));
    }
  } else {
    std::vector<double> sum(maps.front().weights.size());
    for (const ExampleMap& one : maps) {
      if (one.layer != layers_) continue;
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += one.weights[i];
    }
    for (const double weight : sum) to.push_back(static_cast<float>(weight / static_cast<double>(heads_)));
  }
  put({step, std::move(to)});
}

std::span<const float> Film::map_of(const Frame& frame, std::int64_t index) const {
  const std::size_t size = example_.row_labels.size() * example_.column_labels.size();
  return std::span(frame.maps).subspan(static_cast<std::size_t>(index) * size, size);
}

double Film::on_answers(std::span<const float> map) const {
  double sum = 0, asked = 0;
  for (std::size_t row = 0; row < example_.answers.size(); ++row) {
    if (example_.answers[row] < 0) continue;
    const std::size_t key = static_cast<std::size_t>(example_.answers[row]);
    sum += static_cast<double>(map[row * example_.column_labels.size() + key]);
    asked += 1;
  }
  return sum / std::max(1.0, asked);
}

std::int64_t Film::best() const {
  std::int64_t best = 0;
  double most = -1;
  for (std::int64_t index = 0; index < frame_shape()[0]; ++index) {
    const double found = on_answers(map_of(frames_.back(), index));
    if (found <= most) continue;
    most = found;
    best = index;
  }
  return best;
}

double Film::weight_on_answers() const { return on_answers(map_of(frames_.back(), best())); }

std::string Film::head_name() const {
  if (!has_answers()) return "layer " + std::to_string(layers_) + ", mean of its heads";
  return "layer " + std::to_string(best() / heads_ + 1) + ", head " + std::to_string(best() % heads_ + 1);
}

draw::Heatmap Film::figure_of(const Frame& frame) const {
  draw::Heatmap figure;
  figure.rows = example_.row_labels.size();
  figure.columns = example_.column_labels.size();
  figure.row_labels = example_.row_labels;
  figure.column_labels = example_.column_labels;
  figure.row_title = "query";
  figure.column_title = "key";
  figure.value_label = "weight";
  const std::span<const float> weights = map_of(frame, best());
  figure.values.assign(weights.begin(), weights.end());
  return figure;
}

draw::Heatmap Film::last() const {
  draw::Heatmap figure = figure_of(frames_.back());
  figure.title = "Attention after step " + std::to_string(last_step()) + ": " + head_name();
  return figure;
}

draw::FilmStrip Film::strip() const {
  draw::FilmStrip strip;
  strip.title = "Attention while it learns: " + head_name();
  strip.value_label = "weight";
  for (const Frame& frame : frames_) {
    strip.frames.push_back(figure_of(frame));
    strip.frames.back().title = "step " + std::to_string(frame.step);
  }
  return strip;
}

}  // namespace attend::learn
