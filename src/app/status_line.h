// One line on standard error that changes while somebody looks.
#pragma once

#include <unistd.h>

#include <chrono>
#include <iostream>
#include <string_view>

namespace attend::app {

class StatusLine {
 public:
  StatusLine() = default;
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;
  ~StatusLine() { clear(); }

  // Standard error is a terminal.
  bool watched() const { return watched_; }
  // It is, and the line is old enough to be written anew: ten times a second at most.
  bool due() const { return watched_ && Clock::now() - last_ >= std::chrono::milliseconds(100); }

  void show(std::string_view text) {
    if (!watched_) return;
    last_ = Clock::now();
    shown_ = true;
    std::cerr << "\r\x1b[K" << text << std::flush;
  }
  void clear() {
    if (shown_) std::cerr << "\r\x1b[K" << std::flush;
    shown_ = false;
  }

 private:
  using Clock = std::chrono::steady_clock;
  bool watched_ = isatty(STDERR_FILENO) == 1;
  bool shown_ = false;
  Clock::time_point last_{};
};

}  // namespace attend::app
