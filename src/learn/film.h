// Where attention looked during training: snapshots on one example, which are part of a training's state.
#pragma once

#include <attend/tensor.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "draw/film_strip.h"
#include "draw/heatmap.h"
#include "learn/task.h"

namespace attend::learn {

// One head's attention in an example.
struct ExampleMap {
  std::int64_t layer = 1, head = 1;  // of the layers that are of the example's kind
  std::vector<double> weights;       // (rows, columns)
  double on_answers = 0;  // the mean weight on the key that has the answer, over the rows that have one
};

// At step 0 and at each doubling of 1/32 of all steps: more often at the start, when much changes.
std::vector<std::int64_t> snapshot_steps(std::int64_t steps);

class Film {
 public:
  // Whether the maps of all snapshots are few enough to be kept: 32 MiB.
  static bool fits(const Example& example, const ModelDescription& description);

  // watched: the user has chosen the example, which is then kept with the frames.
  Film(Example example, const ModelDescription& description, bool watched);

  const Example& example() const noexcept { return example_; }
  bool watched() const noexcept { return watched_; }

  // The maps of all heads after a step that is later than the last; those that no figure needs are left out.
  void take(std::int64_t step, const std::vector<ExampleMap>& maps);
  // As they are kept.
  struct Frame {
    std::int64_t step;
    std::vector<float> maps;  // of the shape frame_shape(): (maps, rows, columns)
  };
  Dims frame_shape() const;
  void put(Frame frame) { frames_.push_back(std::move(frame)); }
  const std::vector<Frame>& frames() const noexcept { return frames_; }
  std::int64_t last_step() const noexcept { return frames_.empty() ? -1 : frames_.back().step; }

  // Of at least one frame. Of the head that looks most at the answers in the end; where there are none, the
  // mean of the last layer's.
  draw::Heatmap last() const;
  draw::FilmStrip strip() const;
  bool has_answers() const;
  double weight_on_answers() const;  // of that head, in the end

 private:
  std::span<const float> map_of(const Frame& frame, std::int64_t index) const;
  double on_answers(std::span<const float> map) const;
  std::int64_t best() const;  // the index of its map
  draw::Heatmap figure_of(const Frame& frame) const;
  std::string head_name() const;

  Example example_;
  std::int64_t layers_, heads_;
  bool watched_;
  std::vector<Frame> frames_;
};

}  // namespace attend::learn
