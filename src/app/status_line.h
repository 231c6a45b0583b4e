// One line on standard error, or a few, that change while somebody looks.
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

  // Standard error is a terminal.
  bool watched() const { return watched_; }
  // It is, and the line is old enough to be written anew: ten times a second at most.
  bool due() const { return watched_ && Clock::now() - last_ >= std::chrono::milliseconds(100); }

  // How many lines the terminal has; 0: nobody knows.
  int rows() const;

  // Words and what draw rendered; it passes draw's gate.
  void show(std::string_view text);
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  // From the first line of what is shown to the end of the screen.
  void erase() const;

  bool watched_;
  bool shown_ = false;
  std::ptrdiff_t above_ = 0;  // lines above the last
  Clock::time_point last_{};
};

}  // namespace attend::app
