// The twin of beast_server.cpp in a build without Boost.
#include <stdexcept>

#include "explore/server.h"

namespace attend::explore {

void serve(Api&, const ServerOptions&) {
  throw std::runtime_error("this attend was built without Boost.Beast, which the explorer's server needs");
}

}  // namespace attend::explore
