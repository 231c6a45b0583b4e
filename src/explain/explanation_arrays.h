// Saves an explanation as arrays in a file.
#pragma once

#include <filesystem>

#include "explain/explanation.h"

namespace attend::explain {

// .npz or .safetensors: weights (units, units), spans (units, 2) of tokens and places (units, 2) of
// characters, special (units), received (units), ids (tokens), and for the focus one row for each method. For
// a text too long for a map of its units: weights (stretches, stretches), stretches (stretches, 2) of tokens,
// and the largest values of each unit's row, top_units and top_values (units, count).
void save_arrays(const Reading& reading, const Explanation& explanation, const std::filesystem::path& file);

}  // namespace attend::explain
