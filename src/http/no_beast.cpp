// The twin of beast_server.cpp in a build without Boost.
#include <stdexcept>

#include "http/server.h"

namespace attend::http {

bool has_server() noexcept { return false; }

void serve(const Handler&, const ServerOptions&) {
  throw std::runtime_error("this attend was built without Boost.Beast, which its servers need");
}

}  // namespace attend::http
