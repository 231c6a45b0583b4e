// How many parameters a checkpoint has, of which types, in how many bytes: from its headers alone.
#pragma once

#include <attend/checkpoint.h>

#include <cstdint>
#include <map>
#include <string>

namespace attend::inventory {

struct WeightTotals {
  std::int64_t parameters = 0, bytes = 0;
  std::map<std::string, std::int64_t> types{};  // parameters by type: F32, BF16, Q4_1, ...
};

// Tables of whole numbers, such as position_ids, have bytes but are not parameters.
WeightTotals weight_totals(const Checkpoint& checkpoint);

// "F32, Q4_1": the type of most parameters first.
std::string type_names(const WeightTotals& totals);

}  // namespace attend::inventory
