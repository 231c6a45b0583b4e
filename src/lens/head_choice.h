// A choice of heads, checked.
#pragma once

#include <attend/lens.h>

#include <vector>

namespace attend::lens {

// The layers that are meant, from 1. Throws for a layer or head that the model does not have.
std::vector<std::int64_t> chosen_layers(const Reading& reading, const HeadChoice& heads);

}  // namespace attend::lens
