// What a training looks like: its losses, and where attention looked on the way.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "draw/figure.h"
#include "learn/trainer.h"

namespace attend::learn {

draw::Plot loss_plot(const Trainer& trainer);

// Snapshots of all heads in one example.
class Film {
 public:
  explicit Film(Example example) : example_(std::move(example)) {}
  void take(Trainer& trainer, std::int64_t step) { frames_.push_back({step, trainer.maps(example_)}); }

  // Of at least one snapshot. Of the head that in the end lies most on the answers; where there are none, the
  // mean of the last layer's.
  draw::Heatmap last() const;
  draw::FilmStrip strip() const;

  std::int64_t last_step() const { return frames_.empty() ? -1 : frames_.back().step; }
  bool has_answers() const;
  double weight_on_answers() const;  // of that head, in the end

 private:
  struct Frame {
    std::int64_t step;
    std::vector<ExampleMap> maps;
  };
  std::size_t best() const;
  draw::Heatmap map(const Frame& frame) const;
  std::string head_name() const;

  Example example_;
  std::vector<Frame> frames_;
};

}  // namespace attend::learn
