// The explorer's server: HTTP on 127.0.0.1, one page, one user.
//
// A thread of its own computes, one request at a time, so that a page loads while a long answer is being
// computed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "explore/api.h"
#include "http/server.h"

namespace attend::explore {

inline constexpr std::size_t kMostBodyBytes = http::Limits{}.body_bytes;
inline constexpr int kPortsToTry = 100;  // from the default on, if none was given

struct ServerOptions {
  std::uint16_t port = 0;                                   // 0: the default, or the next that is free
  std::function<void(const std::string& address)> ready{};  // called once it listens
};

// As http::serve().
void serve(Api& api, const ServerOptions& options);

}  // namespace attend::explore
