// Whose requests are answered: those of pages that came from here.
//
// The server listens on 127.0.0.1, but any page of the web can make a browser on this machine send requests
// there; a name that somebody else owns can even be made to point there (DNS rebinding). Both say so in their
// headers.
#pragma once

#include <string_view>

#include "explore/message.h"

namespace attend::explore {

// 127.0.0.1 or localhost, with or without a port.
bool is_own_host(std::string_view host) noexcept;

// Nothing, or http:// and that very host.
bool is_own_origin(std::string_view origin, std::string_view host) noexcept;

// Throws RequestError, 403, for the requests of others.
void require_own(const Request& request);

}  // namespace attend::explore
