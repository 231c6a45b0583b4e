// The explorer's server: HTTP on 127.0.0.1, one page, one user.
//
// One thread handles all connections; another computes, one request at a time, so that a page loads while a
// long answer is being computed. No client can make it use more than a fixed amount of memory or wait for
// ever.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "explore/api.h"

namespace attend::explore {

inline constexpr std::size_t kMostHeaderBytes = 8 << 10;
inline constexpr std::size_t kMostBodyBytes = 1 << 20;
inline constexpr std::size_t kMostConnections = 64;
inline constexpr int kIdleSeconds =
    30;  // for a complete request, between two requests, and for sending an answer

inline constexpr std::uint16_t kDefaultPort = 8080;
inline constexpr int kPortsToTry = 100;  // from the default on, if none was given

struct ServerOptions {
  std::uint16_t port = 0;                                   // 0: the default, or the next that is free
  std::function<void(const std::string& address)> ready{};  // called once it listens
};

// Serves until SIGTERM or SIGINT, then accepts no new connections, finishes what it has begun and returns.
// Throws std::runtime_error, one sentence, if it cannot listen.
void serve(Api& api, const ServerOptions& options);

}  // namespace attend::explore
