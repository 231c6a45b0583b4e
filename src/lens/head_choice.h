// A choice of heads, checked.
#pragma once

#include <attend/lens.h>

#include <optional>
#include <vector>

namespace attend::lens {

// The numbers of the chosen layers. Throws for a layer or head that the model does not have.
std::vector<std::int64_t> chosen_layers(const Reading& reading, const HeadChoice& heads);

// The index of the chosen head along an axis of heads; empty: all heads.
inline std::optional<std::int64_t> head_index(const HeadChoice& heads) {
  return heads.head ? std::optional(*heads.head - 1) : std::nullopt;
}

}  // namespace attend::lens
