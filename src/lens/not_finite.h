// Where the numbers of a pass stop being finite.
#pragma once

#include <attend/lens.h>

#include <optional>

namespace attend::lens {

// The first place in a layer, in the order in which its parts are computed.
std::optional<NotFinite> find_not_finite(const LayerMoment& moment);

}  // namespace attend::lens
