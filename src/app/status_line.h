// One line on standard error, or a few, that change while somebody looks.
#pragma once

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
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

  // How many lines the terminal has; 0: nobody knows.
  int rows() const {
    winsize size{};
    return watched_ && ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
  }

  void show(std::string_view text) {
    if (!watched_) return;
    last_ = Clock::now();
    erase();
    shown_ = true;
    above_ = std::count(text.begin(), text.end(), '\n');
    std::cerr << text << std::flush;
  }
  void clear() {
    if (!shown_) return;
    erase();
    std::cerr << std::flush;
    shown_ = false;
    above_ = 0;
  }

 private:
  // From the first line of what is shown to the end of the screen.
  void erase() const {
    std::cerr << '\r';
    if (above_ > 0) std::cerr << "\x1b[" << above_ << 'A';
    std::cerr << (above_ > 0 ? "\x1b[J" : "\x1b[K");
  }

  using Clock = std::chrono::steady_clock;
  bool watched_ = isatty(STDERR_FILENO) == 1;
  bool shown_ = false;
  std::ptrdiff_t above_ = 0;  // lines above the last
  Clock::time_point last_{};
};

}  // namespace attend::app
