#include "app/output.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

namespace attend::app {

void write_output(std::string_view data) {
  while (!data.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, data.data(), data.size());
    if (written >= 0) {
      data.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EPIPE) {
      std::_Exit(0);  // only where SIGPIPE is ignored; otherwise the signal has ended us already
    } else if (errno != EINTR) {
      throw std::runtime_error(std::string("cannot write to standard output: ") + std::strerror(errno));
    }
  }
}

}  // namespace attend::app
