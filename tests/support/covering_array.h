// A small set of test rows in which every pair of values of every two parameters occurs at least once.
#pragma once

#include <cstddef>
#include <vector>

namespace attend {

// sizes[p] is the number of values of parameter p; a row holds one value index per parameter. Greedy: each
// row starts from a pair that is still missing and takes, parameter by parameter, the value that completes
// the most missing pairs. The same sizes always give the same rows.
std::vector<std::vector<int>> covering_array(const std::vector<int>& sizes);

}  // namespace attend
