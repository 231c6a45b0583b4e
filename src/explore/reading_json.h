// What the page must know of a reading before it asks for numbers, and all numbers of one weight; as JSON.
#pragma once

#include <attend/lens.h>

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

namespace attend::explore {

nlohmann::ordered_json facts_json(const Reading& reading, std::string_view model);

// How one weight between tokens is made: score = scale · q·k + bias, weight = exp(score - max) / sum. The
// score of a key that takes no part is null, and it is masked. `contribution` is the share of what the query
// takes that comes from this key, by the length of weight · value · Wo. Throws std::invalid_argument for what
// is not there.
nlohmann::ordered_json cell_json(const Reading& reading, std::int64_t layer, std::int64_t head,
                                 std::int64_t query, std::int64_t key, double contribution);

// What softmax takes (-inf: masked), and what it gives: n numbers, then n numbers.
std::vector<double> softmax_row(const Reading& reading, std::int64_t layer, std::int64_t head,
                                std::int64_t query);

}  // namespace attend::explore
