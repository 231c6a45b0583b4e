#include "draw/film_strip.h"

namespace attend::draw {

void check(const FilmStrip& strip) {
  for (const Heatmap& frame : strip.frames) check(frame);
}

std::vector<Heatmap> frames_on_one_scale(const FilmStrip& strip) {
  std::vector<Heatmap> frames = strip.frames;
  for (Heatmap& frame : frames) frame.range = strip.range;
  return frames;
}

}  // namespace attend::draw
