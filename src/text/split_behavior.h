// What becomes of the places where a text is split.
#pragma once

#include <string_view>
#include <vector>

#include "io/json_document.h"

namespace attend::text {

// A stretch of text, and whether it is a delimiter. Stretches cover the text without gaps.
struct Stretch {
  std::size_t begin, end;
  bool delimiter;
};

enum class SplitBehavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

SplitBehavior read_split_behavior(const io::JsonValue& behavior);

// Calls emit(begin, end) for the parts that remain. Changes the stretches.
template <class Emit>
void split(std::vector<Stretch>& stretches, SplitBehavior behavior, Emit&& emit) {
  const auto merges = [&](const Stretch& left, const Stretch& right) {
    switch (behavior) {
      case SplitBehavior::contiguous:
        return left.delimiter == right.delimiter;
      case SplitBehavior::merged_with_previous:
        return right.delimiter && !left.delimiter;
      case SplitBehavior::merged_with_next:
        return left.delimiter && !right.delimiter;
      default:
        return false;
    }
  };
  for (std::size_t i = 0; i < stretches.size();) {
    std::size_t next = i + 1;
    while (next < stretches.size() && merges(stretches[next - 1], stretches[next])) ++next;
    if (behavior != SplitBehavior::removed || !stretches[i].delimiter)
      emit(stretches[i].begin, stretches[next - 1].end);
    i = next;
  }
}

}  // namespace attend::text
