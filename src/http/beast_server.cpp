// The server, on Boost.Beast, whose headers take 20 seconds to compile: only this file includes them.
#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/signal_set.hpp>
#include <csignal>

#include "http/beast_connection.h"

namespace attend::http {
namespace {

constexpr std::chrono::seconds kPatience{
    1};  // before a connection without a request may be dropped for another

asio::ip::address address_of(const std::string& host) {
  Error error;
  const asio::ip::address address = asio::ip::make_address(host == "localhost" ? "127.0.0.1" : host, error);
  if (error)
    throw std::runtime_error(joined("\"", host, "\" is not an address such as 127.0.0.1 or 0.0.0.0"));
  return address;
}

tcp::acceptor listen_on(asio::io_context& io, const ServerOptions& options) {
  const asio::ip::address address = address_of(options.host);
  const auto try_port = [&](int number) -> std::optional<tcp::acceptor> {
    const tcp::endpoint place(address, static_cast<std::uint16_t>(number));
    tcp::acceptor acceptor(io, place.protocol());
    acceptor.set_option(asio::socket_base::reuse_address(true));
    Error error;
    acceptor.bind(place, error);
    if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
    if (error) return std::nullopt;
    return acceptor;
  };
  const int first = options.port, last = std::min(first + options.ports_to_try, 65536);
  for (int port = first; port < last; ++port) {
    if (auto acceptor = try_port(port)) return std::move(*acceptor);
  }
  const std::string where = address.is_loopback() ? "" : joined(" of ", options.host);
  if (options.ports_to_try == 1)
    throw std::runtime_error(joined("port ", first, where, " is in use, or this user may not listen on it"));
  throw std::runtime_error(joined("none of the ports ", first, " to ", last - 1, " is free"));
}

// Connections are descriptors, of which a shell allows 1,024 unless asked.
void allow_descriptors(std::size_t count) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= count) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, count);
  setrlimit(RLIMIT_NOFILE, &limit);
}

class Server {
 public:
  explicit Server(std::shared_ptr<Shared> shared)
      : owner_(std::move(shared)),
        shared_(*owner_),
        acceptor_(listen_on(shared_.io, shared_.options)),
        signals_(shared_.io, SIGTERM, SIGINT),
        pause_(shared_.io),
        grace_(shared_.io) {
    allow_descriptors(shared_.options.limits.connections + 64);
    signals_.async_wait([this](Error error, int signal) {
      if (!error) drain(signal);
    });
    accept();
    if (!shared_.options.ready) return;
    std::ostringstream place;  // as it stands in an address, IPv6 with its brackets
    place << acceptor_.local_endpoint();
    shared_.options.ready(joined("http://", place.str(), "/"));
  }

 private:
  void accept() {
    acceptor_.async_accept([this](Error error, tcp::socket socket) {
      if (shared_.stopping) return;
      if (error) return accept_later();
      try {
        admit(std::move(socket));
      } catch (const std::bad_alloc&) {  // only this connection is lost
      }
      accept();
    });
  }

  void admit(tcp::socket&& socket) {
    Error ignored;
    socket.set_option(tcp::no_delay(true), ignored);  // an answer in pieces shows each when it is there
    if (shared_.connections.size() < shared_.options.limits.connections || make_room()) {
      std::make_shared<Connection>(std::move(socket), owner_)->read();
    } else {
      refuse_connection(socket);
    }
  }

  // There are currently no descriptors or no memory for another connection.
  void accept_later() {
    pause_.expires_after(std::chrono::milliseconds(100));
    pause_.async_wait([this](Error error) {
      if (!error && !shared_.stopping) accept();
    });
  }

  // The connection that has been idle longest is dropped, so that idle connections cannot keep others out.
  bool make_room() {
    Connection* longest = nullptr;
    for (Connection* connection : shared_.connections) {
      if (connection->waiting_since() &&
          (longest == nullptr || *connection->waiting_since() < *longest->waiting_since()))
        longest = connection;
    }
    if (longest == nullptr || Clock::now() - *longest->waiting_since() < kPatience) return false;
    longest->close();
    return true;
  }

  static void refuse_connection(tcp::socket& socket) {
    constexpr std::string_view kBusy =
        "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\nRetry-After: "
        "1\r\n\r\n";
    Error ignored;
    socket.non_blocking(true, ignored);
    socket.write_some(asio::buffer(kBusy), ignored);
    socket.close(ignored);
  }

  // After SIGTERM it may go on for a while: whoever sends requests here is to notice first. Ctrl-C is a
  // person.
  void drain(int signal) {
    shared_.draining = true;
    if (shared_.options.stopping) shared_.options.stopping();
    Error ignored;
    signals_.clear(ignored);  // a second signal ends the program at once
    if (signal == SIGINT || shared_.options.grace.count() == 0) return stop();
    grace_.expires_after(shared_.options.grace);
    grace_.async_wait([this](Error) { stop(); });
  }

  void stop() {
    shared_.stopping = true;
    Error ignored;
    acceptor_.close(ignored);
    pause_.cancel();
    bool halfway = false;
    for (Connection* connection : shared_.connections) {
      if (connection->is_halfway()) {
        halfway = true;
      } else if (connection->waiting_since()) {
        connection->close();
      }
    }
    if (shared_.connections.empty()) return;
    shared_.deadline.expires_after(shared_.options.drain);
    shared_.deadline.async_wait([this](Error) { close_all(); });
    if (!halfway) return;
    shared_.farewell.expires_after(kFarewell);
    shared_.farewell.async_wait([this](Error) {
      for (Connection* connection : shared_.connections) {
        if (connection->waiting_since()) connection->close();
      }
    });
  }

  void close_all() {
    for (Connection* connection : shared_.connections) connection->close();
  }

  const std::shared_ptr<Shared> owner_;
  Shared& shared_;
  tcp::acceptor acceptor_;
  asio::signal_set signals_;
  asio::steady_timer pause_, grace_;
};

}  // namespace

bool has_server() noexcept { return true; }

void serve(const Handler& handler, const ServerOptions& options) {
  const auto shared = std::make_shared<Shared>(handler, options);
  const Server server(shared);
  for (;;) {
    try {
      shared->io.run();
      break;
    } catch (const std::bad_alloc&) {
      continue;  // only one connection ran out of memory: the others continue
    }
  }
}

}  // namespace attend::http
