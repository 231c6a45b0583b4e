// Attention flow: the most that could come from each unit if layers were pipes.
#pragma once

#include <attend/lens.h>

namespace attend::lens {

// From every unit to this one, (units). The tokens of a unit form one source; what arrives is averaged over
// the tokens of the unit in question.
std::vector<double> flow_row(const Reading& reading, const LensQuery& query, std::span<const Word> units,
                             std::size_t unit);

}  // namespace attend::lens
