// A model view as data: small maps of all heads of all layers.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "draw/heatmap.h"

namespace attend::draw {

struct ModelView {
  std::string title;
  std::size_t layers = 0, heads = 0;
  std::vector<std::string> layer_labels;  // one per layer, or empty: their numbers, from 1
  std::vector<std::string> head_labels;   // likewise
  std::size_t group = 1;                  // heads side by side that share keys and values: a divisor of heads
  std::vector<Heatmap> maps;  // (layers, heads); a map's title is shown below it; a map of 0 x 0 stays blank

  const Heatmap& at(std::size_t layer, std::size_t head) const { return maps[layer * heads + head]; }
  std::string layer_label(std::size_t layer) const {
    return layer_labels.empty() ? std::to_string(layer + 1) : layer_labels[layer];
  }
  std::string head_label(std::size_t head) const {
    return head_labels.empty() ? std::to_string(head + 1) : head_labels[head];
  }
};

// Throws std::invalid_argument when sizes do not agree.
void check(const ModelView& view);

// Whether all maps that are not blank have the same scale, so that one legend serves them all.
bool share_a_scale(const std::vector<Heatmap>& maps);

}  // namespace attend::draw
