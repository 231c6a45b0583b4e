// Numbers that every process has a part of, added up in the order of the processes: the same bits on all of
// them.
#pragma once

#include <vector>

#include "spread/call.h"

namespace attend::spread {

// numbers become the sums over all processes.
void add_over_processes(Processes& processes, std::vector<double>& numbers);

}  // namespace attend::spread
