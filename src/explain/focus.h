// One word of an explanation in detail.
#pragma once

#include "explain/shown_map.h"

namespace attend::explain {

// Where a unit looks and what it takes, and also by the requested method if that is a different one.
Focus focus_on(const Reading& reading, const ExplainRequest& request, const Units& units, std::size_t unit);

}  // namespace attend::explain
