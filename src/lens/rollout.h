// Attention rollout: where the tokens of a layer come from, over all paths.
#pragma once

#include <attend/lens.h>

namespace attend::lens {

// Turns rows (rows, n) that are weights over the tokens of a layer into weights over the input tokens: a
// vector times one matrix per layer, each of which is made row by row and never kept.
void roll_out(const Reading& reading, const HeadChoice& heads, std::vector<double>& rows);

// The layers that a path goes through, from the first. Refuses a single head, which is not a path.
std::int64_t path_layers(const Reading& reading, const LensQuery& query);

}  // namespace attend::lens
