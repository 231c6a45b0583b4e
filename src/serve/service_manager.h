// What systemd wants to know of a service of Type=notify.
#pragma once

#include <string_view>

namespace attend::serve {

// state: "READY=1" or "STOPPING=1". Does nothing, without an error, where NOTIFY_SOCKET names no socket.
void tell_service_manager(std::string_view state) noexcept;

}  // namespace attend::serve
