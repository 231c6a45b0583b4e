#include "http/callers.h"

#include <algorithm>

namespace attend::http {

bool is_own_host(std::string_view host) noexcept {
  const std::size_t colon = host.find(':');
  const std::string_view name = host.substr(0, colon);
  if (name != "127.0.0.1" && name != "localhost") return false;
  if (colon == host.npos) return true;
  const std::string_view port = host.substr(colon + 1);
  return !port.empty() && port.size() <= 5 &&
         std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_own_origin(std::string_view origin, std::string_view host) noexcept {
  constexpr std::string_view kScheme = "http://";
  return origin.empty() || (origin.starts_with(kScheme) && origin.substr(kScheme.size()) == host);
}

void require_own(const Request& request) {
  if (!is_own_host(request.host))
    throw RequestError(403, "this server only answers under the names 127.0.0.1 and localhost");
  if (!is_own_origin(request.origin, request.host))
    throw RequestError(403, "this server only answers its own page");
}

}  // namespace attend::http
