// A film strip as data: a sequence of maps on one scale, such as the layers of a model or the steps of a
// training run.
#pragma once

#include <string>
#include <vector>

#include "draw/heatmap.h"

namespace attend::draw {

struct FilmStrip {
  std::string title;
  std::vector<Heatmap> frames;  // in order; a frame's title is its caption
  ValueRange range;             // of all frames; overrides their own
  std::string value_label;      // what the colours mean; may be empty
};

// Throws std::invalid_argument when the sizes of a frame do not agree.
inline void check(const FilmStrip& strip) {
  for (const Heatmap& frame : strip.frames) check(frame);
}

// The frames, each with the range of the strip.
inline std::vector<Heatmap> frames_on_one_scale(const FilmStrip& strip) {
  std::vector<Heatmap> frames = strip.frames;
  for (Heatmap& frame : frames) frame.range = strip.range;
  return frames;
}

}  // namespace attend::draw
