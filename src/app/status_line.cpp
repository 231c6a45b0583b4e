#include "app/status_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "draw/printable.h"

namespace attend::app {

StatusLine::StatusLine() : watched_(isatty(STDERR_FILENO) == 1) {}

int StatusLine::rows() const {
  winsize size{};
  return watched_ && ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

void StatusLine::show(std::string_view text) {
  if (!watched_) return;
  last_ = Clock::now();
  erase();
  shown_ = true;
  above_ = std::count(text.begin(), text.end(), '\n');
  std::cerr << draw::printable(text, draw::Allow::styles) << std::flush;
}

void StatusLine::clear() {
  if (!shown_) return;
  erase();
  std::cerr << std::flush;
  shown_ = false;
  above_ = 0;
}

void StatusLine::erase() const {
  std::cerr << '\r';
  if (above_ > 0) std::cerr << "\x1b[" << above_ << 'A';
  std::cerr << (above_ > 0 ? "\x1b[J" : "\x1b[K");
}

}  // namespace attend::app
