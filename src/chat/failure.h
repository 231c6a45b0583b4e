// How a template is refused or fails: a sentence, to which whoever knows the line adds it.
#pragma once

#include <stdexcept>
#include <string>

#include "base/error.h"

namespace attend::chat {

class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

template <class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  throw Failure(joined(parts...));
}

}  // namespace attend::chat
