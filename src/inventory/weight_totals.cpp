#include "inventory/weight_totals.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace attend::inventory {
namespace {

// The whole-number types of safetensors; GGUF has some of them, too.
bool is_parameter_type(std::string_view type) {
  constexpr std::array<std::string_view, 9> kWhole = {"BOOL", "I8",  "I16", "I32", "I64",
                                                      "U8",   "U16", "U32", "U64"};
  return std::find(kWhole.begin(), kWhole.end(), type) == kWhole.end();
}

}  // namespace

WeightTotals weight_totals(const Checkpoint& checkpoint) {
  WeightTotals totals;
  for (const std::string& name : checkpoint.names()) {
    const TensorInfo info = checkpoint.info(name);
    totals.bytes += info.bytes;
    if (!is_parameter_type(info.type)) continue;
    std::int64_t count = 1;
    for (const std::int64_t size : info.shape) count *= size;
    totals.parameters += count;
    totals.types[info.type] += count;
  }
  return totals;
}

std::string type_names(const WeightTotals& totals) {
  std::vector<std::pair<std::string, std::int64_t>> types(totals.types.begin(), totals.types.end());
  std::stable_sort(types.begin(), types.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string names;
  for (const auto& [type, count] : types) names.append(names.empty() ? "" : ", ").append(type);
  return names;
}

}  // namespace attend::inventory
