// A film strip as data: one map after the other on one scale, as of the layers of a model or the steps of a
// training.
#pragma once

#include <string>
#include <vector>

#include "draw/heatmap.h"

namespace attend::draw {

struct FilmStrip {
  std::string title;
  std::vector<Heatmap> frames;  // in order; a frame's title is its caption
  ValueRange range;             // of all frames, whatever their own say
  std::string value_label;      // what the colours stand for; may be empty
};

// Throws one sentence when the sizes of a frame do not agree.
void check(const FilmStrip& strip);

// The frames, each with the range of the strip.
std::vector<Heatmap> frames_on_one_scale(const FilmStrip& strip);

}  // namespace attend::draw
