// The server, on Boost.Beast, whose headers take 20 seconds to compile: only this file includes them.
#include <sys/socket.h>

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <csignal>
#include <optional>
#include <set>

#include "base/error.h"
#include "explore/server.h"

namespace attend::explore {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using tcp = asio::ip::tcp;
using Clock = std::chrono::steady_clock;
using Error = boost::system::error_code;

constexpr std::chrono::seconds kIdle{kIdleSeconds};
constexpr std::chrono::seconds kFarewell{2};  // for the last bytes of a connection that is closing
constexpr std::chrono::seconds kPatience{
    1};  // before a connection without a request may be dropped for another
constexpr std::size_t kMostDiscarded = 8 << 20;

// State shared by the connections. All of it except `stopping` belongs to the thread that runs `io`.
struct Shared {
  Api& api;
  asio::io_context io{1};
  asio::thread_pool worker{1};
  std::atomic<bool> stopping = false;
  std::set<class Connection*> connections{};
  asio::steady_timer farewell{io};  // runs while a stopping server waits for requests in progress
};

http::response<http::string_body> message_of(Response&& answer, unsigned version) {
  http::response<http::string_body> message(static_cast<http::status>(answer.status), version);
  message.set(http::field::content_type, answer.type);
  message.set(http::field::cache_control, "no-store");
  message.set("X-Content-Type-Options", "nosniff");
  message.set("Cross-Origin-Resource-Policy", "same-origin");
  message.set("Referrer-Policy", "no-referrer");
  for (const auto& [name, value] : answer.headers) message.set(name, value);
  message.body() = std::move(answer.body);
  message.prepare_payload();
  return message;
}

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket&& socket, Shared& shared) : stream_(std::move(socket)), shared_(shared) {
    shared_.connections.insert(this);
  }
  ~Connection() {
    shared_.connections.erase(this);
    if (shared_.stopping && shared_.connections.empty()) shared_.farewell.cancel();
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void read() {
    waiting_since_ = Clock::now();
    parser_.emplace();
    parser_->header_limit(kMostHeaderBytes);
    parser_->body_limit(kMostBodyBytes);
    stream_.expires_after(kIdle);  // for the whole request, however slowly it arrives
    http::async_read(stream_, buffer_, *parser_,
                     [self = shared_from_this()](Error error, std::size_t) { self->on_read(error); });
  }

  // Since when it has not sent a complete request; empty while one is being answered.
  std::optional<Clock::time_point> waiting_since() const { return waiting_since_; }

  // Whether part of a request has arrived.
  bool is_halfway() const { return waiting_since_ && parser_->got_some(); }

  void close() {
    waiting_since_.reset();
    Error ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_both, ignored);
    stream_.close();
  }

 private:
  void on_read(Error error) {
    waiting_since_.reset();
    if (error == http::error::header_limit || error == http::error::buffer_overflow)
      return refuse_request(431, joined("the header has more than ", kMostHeaderBytes, " bytes"));
    if (error == http::error::body_limit)
      return refuse_request(413, joined("the body has more than ", kMostBodyBytes, " bytes"));
    if (error == http::error::end_of_stream || error == http::error::partial_message) return close();
    if (error.category() == http::make_error_code(http::error::end_of_stream).category())
      return refuse_request(400, "this is not valid HTTP");
    if (error) return close();  // disconnected, or too slow

    const auto& message = parser_->get();
    Request request{.method = std::string(message.method_string()),
                    .target = std::string(message.target()),
                    .host = std::string(message[http::field::host]),
                    .origin = std::string(message[http::field::origin]),
                    .body = std::move(parser_->get().body())};
    keep_alive_ = message.keep_alive() && message.method() != http::verb::head;  // whose answers have no body
    version_ = message.version();
    if (message.count(http::field::host) > 1 || message.count(http::field::origin) > 1)
      return refuse_request(400, "a header is repeated");
    if (!is_for_api(request)) return write(page_answer(request));
    stream_.expires_never();
    asio::post(shared_.worker, [self = shared_from_this(), request = std::move(request),
                                work = asio::make_work_guard(shared_.io)]() mutable {
      asio::io_context& io = self->shared_.io;
      std::optional<Response> answer = self->compute(request);
      // From here on the connection belongs to the other thread alone, and must be destroyed there.
      asio::post(io, [self = std::move(self), answer = std::move(answer)]() mutable {
        answer ? self->write(std::move(*answer)) : self->close();
      });
    });
  }

  // On the worker's thread. No answer for a client that did not wait, or when there is no memory for one.
  std::optional<Response> compute(const Request& request) noexcept {
    try {
      if (shared_.stopping) return error_response(503, "the server is being stopped");
      char byte = 0;
      if (::recv(stream_.socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
        return std::nullopt;
      return shared_.api.answer(request);
    } catch (const std::exception&) {
      return std::nullopt;
    }
  }

  // Refuses a request that was read only partly, or not at all.
  void refuse_request(int status, const std::string& sentence) {
    keep_alive_ = false;
    farewell_ = true;
    write(error_response(status, sentence));
  }

  void write(Response&& answer) {
    response_ = message_of(std::move(answer), version_);
    response_.keep_alive(keep_alive_ && !shared_.stopping);
    stream_.expires_after(kIdle);
    http::async_write(stream_, response_,
                      [self = shared_from_this()](Error error, std::size_t) { self->on_written(error); });
  }

  void on_written(Error error) {
    response_ = {};
    if (error) return close();
    if (response_keeps_alive()) return read();
    if (!farewell_) return close();
    // Closing a connection with unread bytes would discard the answer, so they are read and dropped.
    Error ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    stream_.expires_after(kFarewell);
    discard();
  }

  bool response_keeps_alive() const { return keep_alive_ && !shared_.stopping; }

  void discard() {
    buffer_.clear();
    stream_.async_read_some(buffer_.prepare(kMostHeaderBytes),
                            [self = shared_from_this()](Error error, std::size_t count) {
                              self->discarded_ += count;
                              if (error || self->discarded_ > kMostDiscarded) return self->close();
                              self->discard();
                            });
  }

  beast::tcp_stream stream_;
  Shared& shared_;
  beast::flat_buffer buffer_{2 * kMostHeaderBytes};
  std::optional<http::request_parser<http::string_body>> parser_;
  http::response<http::string_body> response_;
  std::optional<Clock::time_point> waiting_since_;
  unsigned version_ = 11;
  bool keep_alive_ = false, farewell_ = false;
  std::size_t discarded_ = 0;
};

tcp::acceptor listen_on(asio::io_context& io, std::uint16_t port) {
  const auto try_port = [&](std::uint16_t number) -> std::optional<tcp::acceptor> {
    tcp::acceptor acceptor(io, tcp::v4());
    acceptor.set_option(asio::socket_base::reuse_address(true));
    Error error;
    acceptor.bind({asio::ip::address_v4::loopback(), number}, error);
    if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
    if (error) return std::nullopt;
    return acceptor;
  };
  if (port != 0) {
    if (auto acceptor = try_port(port)) return std::move(*acceptor);
    throw std::runtime_error(joined("port ", port, " is in use, or we may not listen on it"));
  }
  for (int i = 0; i < kPortsToTry; ++i) {
    if (auto acceptor = try_port(static_cast<std::uint16_t>(kDefaultPort + i))) return std::move(*acceptor);
  }
  throw std::runtime_error(
      joined("none of the ports ", kDefaultPort, " to ", kDefaultPort + kPortsToTry - 1, " is free"));
}

class Server {
 public:
  Server(Shared& shared, const ServerOptions& options)
      : shared_(shared),
        acceptor_(listen_on(shared.io, options.port)),
        signals_(shared.io, SIGTERM, SIGINT),
        pause_(shared.io) {
    signals_.async_wait([this](Error error, int) {
      if (!error) stop();
    });
    accept();
    if (options.ready) options.ready(joined("http://127.0.0.1:", acceptor_.local_endpoint().port(), "/"));
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
    if (shared_.connections.size() < kMostConnections || make_room()) {
      std::make_shared<Connection>(std::move(socket), shared_)->read();
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

  void stop() {
    shared_.stopping = true;
    Error ignored;
    signals_.clear(ignored);  // a second signal ends the program at once
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
    if (!halfway) return;
    shared_.farewell.expires_after(kFarewell);
    shared_.farewell.async_wait([this](Error) {
      for (Connection* connection : shared_.connections) {
        if (connection->waiting_since()) connection->close();
      }
    });
  }

  Shared& shared_;
  tcp::acceptor acceptor_;
  asio::signal_set signals_;
  asio::steady_timer pause_;
};

}  // namespace

void serve(Api& api, const ServerOptions& options) {
  Shared shared{.api = api};
  const Server server(shared, options);
  for (;;) {
    try {
      shared.io.run();
      break;
    } catch (const std::bad_alloc&) {
      continue;  // only one connection ran out of memory: the others continue
    }
  }
  shared.worker.join();
}

}  // namespace attend::explore
