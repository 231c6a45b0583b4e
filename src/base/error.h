// How the library refuses: an exception whose message is "[operation] one clear sentence".
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace attend {

// refuse("attention", "key has ", 7, " heads, not a divisor of ", 12)
template <class... Parts>
[[noreturn]] void refuse(const char* operation, const Parts&... parts) {
  std::ostringstream message;
  message << '[' << operation << "] ";
  (message << ... << parts);
  throw std::invalid_argument(message.str());
}

}  // namespace attend
