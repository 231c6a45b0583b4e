// What the page must know about a reading before it asks for numbers, and all the numbers behind one weight,
// as JSON.
#pragma once

#include <attend/lens_sink.h>

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

namespace attend::explore {

nlohmann::ordered_json facts_json(const Reading& reading, std::string_view model, SinkChoice sink);

// How one weight between tokens is computed: score = scale · q·k + bias (with a softcap c,
// c · tanh(scale · q·k / c) + bias), weight = exp(score - max) / sum. The score of a masked key is null.
// `contribution` is the share of what the query takes that comes from this key, by the length of
// weight · value · Wo. Throws std::invalid_argument for a layer, head or token that does not exist.
nlohmann::ordered_json cell_json(const Reading& reading, std::int64_t layer, std::int64_t head,
                                 std::int64_t query, std::int64_t key, double contribution);

// The input of softmax (-inf: masked) and its output: n numbers, then n numbers.
std::vector<double> softmax_row(const Reading& reading, std::int64_t layer, std::int64_t head,
                                std::int64_t query);

}  // namespace attend::explore
