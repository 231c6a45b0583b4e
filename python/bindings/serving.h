// An object that changes while it works serves one caller at a time.
#pragma once

#include <mutex>

#include "compute.h"

namespace attend_python {

// While this lives the caller has the object, and computes: other Python threads run, and those that want the
// same object wait.
class Serving {
 public:
  explicit Serving(std::mutex& object, Signals signals = Signals::wait)
      : computing_(signals), holding_(&object), object_(object) {}

  // Whether this thread has the object already, and what asks is a signal handler or a callback of that call.
  static bool is_serving(const std::mutex& object) noexcept { return Holding::holds(&object); }

 private:
  Computing computing_;  // first: who waits for a lock must not hold the GIL
  Holding holding_;
  std::unique_lock<std::mutex> object_;
};

}  // namespace attend_python
