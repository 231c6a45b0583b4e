// The values a lesson is made of, read from JSON: matrices, vectors, labels, counts.
#pragma once

#include <attend/tensor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "steps/json_text.h"

namespace attend::steps {

// More rows than a matrix of weights between them could ever be shown for; keeps memory in step with the
// file.
inline constexpr std::int64_t kMaxTokens = 1 << 20;

Tensor read_matrix(JsonText& json, std::string_view key);  // (rows, columns), f64
Tensor read_vector(JsonText& json, std::string_view key);  // (size), f64
std::vector<std::string> read_labels(JsonText& json, std::string_view key);
std::int64_t read_count(JsonText& json, std::string_view key);  // whole, at least 1

}  // namespace attend::steps
