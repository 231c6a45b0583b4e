// How the library refuses: an exception whose message is "[operation] one clear sentence".
#pragma once

#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

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

// std::bad_alloc, which callers know how to answer, with a sentence.
class NoMemory : public std::bad_alloc {
 public:
  explicit NoMemory(std::string sentence) : sentence_(std::move(sentence)) {}
  const char* what() const noexcept override { return sentence_.c_str(); }

 private:
  std::string sentence_;
};

}  // namespace attend::detail
