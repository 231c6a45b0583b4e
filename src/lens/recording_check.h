// Whether the parts of a recording fit together.
#pragma once

#include <attend/lens_recording.h>

#include <optional>
#include <string>

namespace attend::lens {

struct RecordingFault {
  std::string where, rule;  // "layer.2.k", "has the shape (3, 4, 8), expected ..."
};

std::optional<RecordingFault> find_fault(const Recording& recording);

// Throws std::invalid_argument.
void require_sound(const Recording& recording);

}  // namespace attend::lens
