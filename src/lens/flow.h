// Attention flow: the most that can come from each unit, if layers were pipes.
#pragma once

#include <attend/lens.h>

namespace attend::lens {

// From every unit to this one, (units). The tokens of a unit are one source together, and those of the unit
// that is asked about share what arrives: the mean over them.
std::vector<double> flow_row(const Reading& reading, const LensQuery& query, std::span<const Word> units,
                             std::size_t unit);

}  // namespace attend::lens
