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

}  // namespace attend::learn
