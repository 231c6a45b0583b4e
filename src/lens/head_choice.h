// A choice of heads, checked.
#pragma once

#include <attend/lens.h>

#include <optional>
#include <vector>

namespace attend::lens {

// The numbers of the layers that are meant. Throws for a layer or head that the model does not have.
std::vector<std::int64_t> chosen_layers(const Reading& reading, const HeadChoice& heads);

// Where the chosen head lies along an axis of heads; none: all are meant.
inline std::optional<std::int64_t> head_index(const HeadChoice& heads) {
  return heads.head ? std::optional(*heads.head - 1) : std::nullopt;
}

}  // namespace attend::lens
