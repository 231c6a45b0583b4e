// Ctrl-C as a wish to end in good order.
#pragma once

#include <signal.h>

#include <atomic>

namespace attend::app {

inline std::atomic<bool> interrupted{false};

// While one lives, Ctrl-C sets `interrupted`; a second Ctrl-C ends the program at once.
class StopOnCtrlC {
 public:
  StopOnCtrlC() {
    interrupted = false;
    struct sigaction action {};
    action.sa_handler = [](int) { interrupted = true; };
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &action, &before_);
  }
  StopOnCtrlC(const StopOnCtrlC&) = delete;
  StopOnCtrlC& operator=(const StopOnCtrlC&) = delete;
  ~StopOnCtrlC() { sigaction(SIGINT, &before_, nullptr); }

 private:
  struct sigaction before_ {};
};

}  // namespace attend::app
