// Which requests are answered: only those of pages that this server sent.
//
// The server listens on 127.0.0.1, but any page on the web can make a browser on this machine send requests
// there; a domain that somebody else owns can even be made to resolve to it (DNS rebinding). The headers of
// such requests give both away.
#pragma once

#include <string_view>

#include "http/message.h"

namespace attend::http {

// 127.0.0.1 or localhost, with or without a port.
bool is_own_host(std::string_view host) noexcept;

// Empty, or http:// and that same host.
bool is_own_origin(std::string_view origin, std::string_view host) noexcept;

// Throws RequestError, 403, for requests from anywhere else.
void require_own(const Request& request);

}  // namespace attend::http
