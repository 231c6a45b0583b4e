#include "draw/model_view.h"

#include <algorithm>

#include "base/error.h"

namespace attend::draw {
void check(const ModelView& view) {
  if (view.maps.size() != view.layers * view.heads) {
    refuse("model view", view.maps.size(), " maps for ", view.layers, " layers of ", view.heads, " heads");
  }
  if (view.group == 0 || view.heads % view.group != 0)
    refuse("model view", view.heads, " heads in groups of ", view.group);
  const auto refuse_labels = [](const char* what, std::size_t labels, std::size_t count) {
    if (labels != 0 && labels != count)
      refuse("model view", labels, " ", what, " labels for ", count, " ", what, "s");
  };
  refuse_labels("layer", view.layer_labels.size(), view.layers);
  refuse_labels("head", view.head_labels.size(), view.heads);
  for (const Heatmap& map : view.maps) check(map);
}

bool share_a_scale(const std::vector<Heatmap>& maps) {
  const auto first = std::find_if_not(maps.begin(), maps.end(), is_blank);
  return std::all_of(first, maps.end(), [&](const Heatmap& map) {
    return is_blank(map) || (map.range.low == first->range.low && map.range.high == first->range.high);
  });
}

}  // namespace attend::draw
