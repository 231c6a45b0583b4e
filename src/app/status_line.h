// One or a few lines on standard error that are updated in place.
#pragma once

#include <chrono>
#include <cstddef>
#include <string_view>

namespace attend::app {

class StatusLine {
 public:
  StatusLine();
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;
  ~StatusLine() { clear(); }

  // Whether standard error is a terminal.
  bool watched() const { return watched_; }
  // Whether it is, and the line is due for an update: at most ten times a second.
  bool due() const { return watched_ && Clock::now() - last_ >= std::chrono::milliseconds(100); }

  // The height of the terminal in lines; 0: unknown.
  int rows() const;

  // Plain or rendered text; passes through draw's printable().
  void show(std::string_view text);
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  // Clears from the first line of what is shown to the end of the screen.
  void erase() const;

  bool watched_;
  bool shown_ = false;
  std::ptrdiff_t above_ = 0;  // lines above the last
  Clock::time_point last_{};
};

}  // namespace attend::app
