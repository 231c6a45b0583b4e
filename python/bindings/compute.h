// While this lives the library computes: other Python threads run, and nobody changes the settings.
#pragma once

#include <nanobind/nanobind.h>

#include <mutex>
#include <shared_mutex>

namespace attend_python {

// set_threads() and set_isa() must not run at the same time as another call into the library.
inline std::shared_mutex& settings() {
  static std::shared_mutex mutex;
  return mutex;
}

class Computing {
  nanobind::gil_scoped_release released_;  // first: who waits for a lock must not hold the GIL
  std::shared_lock<std::shared_mutex> lock_{settings()};
};

class ChangingSettings {
  nanobind::gil_scoped_release released_;
  std::unique_lock<std::shared_mutex> lock_{settings()};
};

}  // namespace attend_python
