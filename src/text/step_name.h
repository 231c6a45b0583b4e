// A step of a sequence of normalizers, pre-tokenizers or decoders.
#pragma once

#include <cstddef>
#include <string>

#include "io/json_document.h"

namespace attend::text {

inline constexpr std::size_t kMostSteps = 1000;  // of a sequence; files have a dozen

// "normalizer.normalizers[3] (Replace)", for messages
inline std::string step_name(const io::JsonValue& step) {
  return step.path() + " (" + std::string(step.type()) + ")";
}

}  // namespace attend::text
