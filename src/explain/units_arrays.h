// Words or tokens as arrays: `spans` of tokens, `places` in the text, and which are `special`.
#pragma once

#include <attend/lens.h>

#include <vector>

#include "explain/array_list.h"

namespace attend::explain {

std::vector<std::int64_t> spans_of(const std::vector<Word>& units);
void add_units(ArrayList& arrays, const std::vector<Word>& units);

}  // namespace attend::explain
