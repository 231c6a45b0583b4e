// How the library refuses: an exception whose message is "[operation] one clear sentence".
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

#include "base/detail.h"

namespace attend::detail {

// The parts as one text.
template <class... Parts>
std::string joined(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

// refuse("attention", "key has ", 7, " heads, not a divisor of ", 12)
template <class... Parts>
[[noreturn]] void refuse(const char* operation, const Parts&... parts) {
  throw std::invalid_argument(joined('[', operation, "] ", parts...));
}

}  // namespace attend::detail
