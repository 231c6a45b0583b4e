// A walk as JSON, at full precision: every number reads back as the same double.
#pragma once

#include <optional>
#include <string>

#include "steps/order.h"
#include "steps/saturation.h"
#include "steps/walk.h"

namespace attend::steps {

// What is written besides the walk; each is omitted when absent.
struct JsonExtras {
  std::optional<std::int64_t> focus;  // a row
  std::optional<OrderReport> order;
  std::optional<std::vector<SaturationRow>> saturation;
};

// {"tokens", "key_tokens" where they differ, "scale", "scores", "weights", "output"}; with several heads
// scores and weights lead with the head, and "head_outputs" (heads, n, dv) is added. scores are scaled and
// not masked, so they are all finite. One line, with its end.
std::string to_json(const Lesson& lesson, const Walk& walk, const JsonExtras& extras);

}  // namespace attend::steps
