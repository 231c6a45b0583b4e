#include "app/output.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <stdexcept>
#include <string>

#include "draw/printable.h"

namespace attend::app {
namespace {

void write_bytes(std::string_view data) {
  while (!data.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, data.data(), data.size());
    if (written >= 0) {
      data.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EPIPE) {
      std::_Exit(0);  // only where SIGPIPE is ignored; otherwise the signal has already ended the program
    } else if (errno != EINTR) {
      throw std::runtime_error(std::string("cannot write to standard output: ") + std::strerror(errno));
    }
  }
}

void write_through(std::string_view data, draw::Allow allow) {
  if (isatty(STDOUT_FILENO) == 1) {
    write_bytes(draw::printable(data, allow));
  } else {
    write_bytes(data);
  }
}

}  // namespace

void write_output(std::string_view data) { write_through(data, draw::Allow::lines); }

void write_styled(std::string_view rendered) { write_through(rendered, draw::Allow::styles); }

void say(std::string_view sentence) {
  if (isatty(STDERR_FILENO) == 1) {
    std::cerr << draw::printable(sentence) << "\n";
  } else {
    std::cerr << sentence << "\n";
  }
}

}  // namespace attend::app
