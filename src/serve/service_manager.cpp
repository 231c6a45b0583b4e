#include "serve/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace attend::serve {

void tell_service_manager(std::string_view state) noexcept {
  const char* const path = std::getenv("NOTIFY_SOCKET");
  if (path == nullptr || (path[0] != '/' && path[0] != '@')) return;
  const std::size_t length = std::strlen(path);
  sockaddr_un place{};
  if (length >= sizeof place.sun_path) return;
  place.sun_family = AF_UNIX;
  std::memcpy(place.sun_path, path, length);
  if (path[0] == '@') place.sun_path[0] = 0;  // a name that is not a file's
  const int descriptor = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  ::sendto(descriptor, state.data(), state.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&place),
           size);
  ::close(descriptor);
}

}  // namespace attend::serve
