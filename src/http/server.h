// HTTP for the explorer and for `attend serve`: connections with limits and times, and one function that
// answers.
//
// One thread handles all connections. No client can make it use more than a fixed amount of memory or wait
// for ever.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "http/exchange.h"

namespace attend::http {

struct Limits {
  std::size_t header_bytes = 8 << 10;
  std::size_t body_bytes = 1 << 20;
  // The one that has been idle longest, and for at least a second, gives way to a new one; otherwise that one
  // gets 503 at once.
  std::size_t connections = 64;
  // For a complete request, between two requests, and for a client to take what it is sent.
  std::chrono::seconds idle{30};
};

inline constexpr std::uint16_t kDefaultPort = 8080;

// Called on the thread of the connections, so it must not compute: it answers at once, or keeps the exchange
// for another thread.
using Handler = std::function<void(std::shared_ptr<Exchange> exchange)>;
// How a request is refused that no handler sees: it was not valid HTTP, or too large.
using Refusal = std::function<Response(int status, const std::string& sentence)>;

struct ServerOptions {
  std::string host = "127.0.0.1";     // an address of this machine, or localhost
  std::uint16_t port = kDefaultPort;  // 0: any that is free
  int ports_to_try = 1;               // from that one on
  std::chrono::seconds grace{0};      // how long it goes on serving after SIGTERM, so that others notice
  std::chrono::seconds drain{20};     // and how long after that it finishes what it has begun
  Limits limits{};
  Refusal refusal = [](int status, const std::string& sentence) { return error_response(status, sentence); };
  std::function<void(const std::string& address)> ready{};  // called once it listens
  std::function<void()> stopping{};                         // called once it was told to stop
};

// Whether this build has a server at all: one without Boost.Beast has none.
bool has_server() noexcept;

// Serves until SIGTERM or SIGINT, then accepts no new connections, finishes what it has begun, closes what is
// not finished in time, and returns. A second signal ends the program. Throws std::runtime_error, one
// sentence, if it cannot listen.
void serve(const Handler& handler, const ServerOptions& options);

}  // namespace attend::http
