// Truncation: how many tokens of each text stay.
#pragma once

#include <cstdint>

#include "io/json_document.h"
#include "text/post_processor.h"

namespace attend::text {

struct Truncation {
  enum class Strategy { longest_first, only_first, only_second };
  std::int64_t max_length = 512;
  Strategy strategy = Strategy::longest_first;
  bool from_left = false;
};

// The section "truncation". Its stride says by how much the pieces that are cut off would overlap; they are
// not kept.
Truncation read_truncation(const io::JsonValue& truncation);

// Leaves at most `room` tokens in all parts together.
void truncate(std::vector<Part>& parts, const Truncation& truncation, std::int64_t room);

}  // namespace attend::text
