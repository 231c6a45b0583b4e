// One connection of the server: reads requests, hands each to the handler, writes the answers. For
// beast_server.cpp alone, because of Boost's headers.
#pragma once

#include <sys/socket.h>

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <charconv>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "base/error.h"
#include "http/server.h"

namespace attend::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace wire = beast::http;
using tcp = asio::ip::tcp;
using Clock = std::chrono::steady_clock;
using Error = boost::system::error_code;

constexpr std::chrono::seconds kFarewell{2};  // for the last bytes of a connection that is closing
constexpr std::size_t kMostDiscarded = 8 << 20;

// State shared by the connections. All of it except the flags belongs to the thread that runs `io`.
struct Shared {
  Shared(const Handler& function, const ServerOptions& given) : handler(function), options(given) {}

  const Handler& handler;
  const ServerOptions& options;
  std::set<class Connection*> connections{};
  asio::io_context io{1};
  std::atomic<bool> draining = false;  // SIGTERM was there
  std::atomic<bool> stopping = false;  // the grace after it is over
  asio::steady_timer farewell{io};     // runs while a stopping server waits for requests that arrive
  asio::steady_timer deadline{io};     // and for those in progress
};

// Everything of an answer but its body.
wire::response_header<> head_of(const Response& answer, unsigned version) {
  wire::response_header<> head;
  head.version(version);
  head.result(static_cast<wire::status>(answer.status));
  if (!answer.type.empty()) head.set(wire::field::content_type, answer.type);
  head.set(wire::field::cache_control, "no-store");
  head.set("X-Content-Type-Options", "nosniff");
  head.set("Cross-Origin-Resource-Policy", "same-origin");
  head.set("Referrer-Policy", "no-referrer");
  for (const auto& [name, value] : answer.headers) head.set(name, value);
  return head;
}

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket&& socket, std::shared_ptr<Shared> shared)
      : stream_(std::move(socket)),
        owner_(std::move(shared)),
        shared_(*owner_),
        limits_(shared_.options.limits),
        buffer_(2 * limits_.header_bytes) {
    shared_.connections.insert(this);
  }
  ~Connection() {
    shared_.connections.erase(this);
    if (!shared_.stopping || !shared_.connections.empty()) return;
    shared_.farewell.cancel();
    shared_.deadline.cancel();
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void read() {
    waiting_since_ = Clock::now();
    parser_.emplace();
    parser_->header_limit(static_cast<std::uint32_t>(limits_.header_bytes));
    parser_->body_limit(limits_.body_bytes);
    stream_.expires_after(limits_.idle);  // for the whole request, however slowly it arrives
    wire::async_read_header(
        stream_, buffer_, *parser_,
        [self = shared_from_this()](Error error, std::size_t) { self->on_header(error); });
  }

  // Since when it has not sent a complete request; empty while one is being answered.
  std::optional<Clock::time_point> waiting_since() const { return waiting_since_; }

  // Whether part of a request has arrived.
  bool is_halfway() const { return waiting_since_ && parser_->got_some(); }

  void close() {
    waiting_since_.reset();
    if (gone_) *gone_ = true;
    Error ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_both, ignored);
    stream_.close();
  }

  void write(Response&& answer) {
    response_.emplace(head_of(answer, version_), std::move(answer.body));
    response_->prepare_payload();
    response_->keep_alive(goes_on());
    stream_.expires_after(limits_.idle);
    wire::async_write(stream_, *response_,
                      [self = shared_from_this()](Error error, std::size_t) { self->on_written(error); });
  }

  // An answer in pieces.
  void begin(Response&& answer) {
    wire::response<wire::empty_body> head(head_of(answer, version_));
    if (version_ < 11)
      keep_alive_ = false;  // such a client knows no chunks: the connection's end is the answer's
    head.chunked(version_ >= 11);
    head.keep_alive(goes_on());
    std::ostringstream text;
    text << head.base();
    unsent_ = text.str();
    streaming_ = true;
    if (!answer.body.empty()) append_piece(answer.body);
    flush();
  }
  void send(const std::string& piece) {
    if (!streaming_ || piece.empty()) return;  // an empty chunk would be the last
    append_piece(piece);
    if (unsent_.size() > kMostUnsentBytes) return close();
    flush();
  }
  void end() {
    if (!streaming_) return close();
    if (version_ >= 11) unsent_ += "0\r\n\r\n";
    streaming_ = false;
    flush();
  }

 private:
  void on_header(Error error) {
    if (error || parser_->is_done()) return on_read(error);
    if (!beast::iequals(parser_->get()[wire::field::expect], "100-continue")) return read_body();
    asio::async_write(stream_, asio::buffer(kContinue),
                      [self = shared_from_this()](Error failed, std::size_t) {
                        failed ? self->close() : self->read_body();
                      });
  }

  void read_body() {
    wire::async_read(stream_, buffer_, *parser_,
                     [self = shared_from_this()](Error error, std::size_t) { self->on_read(error); });
  }

  void on_read(Error error);

  // A client that closes its connection while it is to wait for an answer makes it readable, with nothing to
  // read. So does the next request, which stays where it is.
  void watch() {
    stream_.socket().async_wait(
        tcp::socket::wait_read, [self = shared_from_this(), gone = gone_](Error error) {
          char byte = 0;
          if (gone != self->gone_ || *gone) return;  // that request has its answer
          const bool ended =
              error || ::recv(self->stream_.socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
          if (ended) *gone = true;
        });
  }

  // Refuses a request that was read only partly, or not at all.
  void refuse_request(int status, const std::string& sentence) {
    keep_alive_ = false;
    farewell_ = true;
    write(shared_.options.refusal(status, sentence));
  }

  void append_piece(const std::string& piece) {
    if (version_ < 11) {
      unsent_ += piece;
      return;
    }
    char size[16];
    const auto end = std::to_chars(size, size + sizeof size, piece.size(), 16).ptr;
    unsent_.append(size, end).append("\r\n").append(piece).append("\r\n");
  }

  void flush() {
    if (!being_sent_.empty()) return;  // what is there now goes when that is sent
    if (unsent_.empty()) {
      return streaming_ ? stream_.expires_never() : on_written({});
    }
    std::swap(being_sent_, unsent_);
    stream_.expires_after(limits_.idle);
    asio::async_write(stream_, asio::buffer(being_sent_),
                      [self = shared_from_this()](Error error, std::size_t) {
                        self->being_sent_.clear();
                        error ? self->close() : self->flush();
                      });
  }

  void on_written(Error error) {
    response_.reset();
    if (error) return close();
    gone_.reset();
    if (goes_on()) return read();
    if (!farewell_) return close();
    // Closing a connection with unread bytes would discard the answer, so they are read and dropped.
    Error ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    stream_.expires_after(kFarewell);
    discard();
  }

  bool goes_on() const { return keep_alive_ && !shared_.stopping; }

  void discard() {
    buffer_.clear();
    stream_.async_read_some(buffer_.prepare(limits_.header_bytes),
                            [self = shared_from_this()](Error error, std::size_t count) {
                              self->discarded_ += count;
                              if (error || self->discarded_ > kMostDiscarded) return self->close();
                              self->discard();
                            });
  }

  static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

  beast::tcp_stream stream_;
  const std::shared_ptr<Shared> owner_;
  Shared& shared_;
  const Limits& limits_;
  beast::flat_buffer buffer_;
  std::optional<wire::request_parser<wire::string_body>> parser_;
  std::optional<wire::response<wire::string_body>> response_;
  std::string unsent_, being_sent_;  // of an answer in pieces
  std::optional<Clock::time_point> waiting_since_;
  std::shared_ptr<std::atomic<bool>> gone_;  // of the request that is being answered
  unsigned version_ = 11;
  bool keep_alive_ = false, farewell_ = false, streaming_ = false;
  std::size_t discarded_ = 0;
};

// What the handler gets. It may live on any thread, the connection only on that of `io`: everything is posted
// there, and so is the last reference to it.
class PostedExchange : public Exchange {
 public:
  PostedExchange(std::shared_ptr<Connection> connection, std::shared_ptr<Shared> shared, Request&& request,
                 std::shared_ptr<std::atomic<bool>> gone)
      : shared_(std::move(shared)),
        connection_(std::move(connection)),
        work_(asio::make_work_guard(shared_->io)),
        request_(std::move(request)),
        gone_(std::move(gone)) {}
  ~PostedExchange() override {
    if (!connection_) return;
    try {
      post_last([](Connection& connection) { connection.close(); });
    } catch (const std::bad_alloc&) {  // the reference goes here and now
    }
  }
  PostedExchange(const PostedExchange&) = delete;
  PostedExchange& operator=(const PostedExchange&) = delete;

  Request& request() noexcept override { return request_; }
  void answer(Response response) override {
    post_last([response = std::move(response)](Connection& to) mutable { to.write(std::move(response)); });
  }
  void begin(Response head) override {
    post([head = std::move(head)](Connection& to) mutable { to.begin(std::move(head)); });
  }
  void send(std::string piece) override {
    post([piece = std::move(piece)](Connection& to) { to.send(piece); });
  }
  void end() override {
    post_last([](Connection& to) { to.end(); });
  }
  bool gone() const noexcept override { return *gone_; }
  bool stopping() const noexcept override { return shared_->draining; }

 private:
  template <class Action>
  void post(Action action) {
    asio::post(shared_->io, [to = connection_, action = std::move(action)]() mutable { action(*to); });
  }
  template <class Action>
  void post_last(Action action) {
    asio::post(shared_->io,
               [to = std::move(connection_), action = std::move(action)]() mutable { action(*to); });
  }

  // A thread may let go of the last exchange when the server has already returned.
  const std::shared_ptr<Shared> shared_;
  std::shared_ptr<Connection> connection_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  Request request_;
  std::shared_ptr<std::atomic<bool>> gone_;
};

void Connection::on_read(Error error) {
  waiting_since_.reset();
  if (error == wire::error::header_limit || error == wire::error::buffer_overflow)
    return refuse_request(431, joined("the header has more than ", limits_.header_bytes, " bytes"));
  if (error == wire::error::body_limit)
    return refuse_request(413, joined("the body has more than ", limits_.body_bytes, " bytes"));
  if (error == wire::error::end_of_stream || error == wire::error::partial_message) return close();
  if (error.category() == wire::make_error_code(wire::error::end_of_stream).category())
    return refuse_request(400, "this is not valid HTTP");
  if (error) return close();  // disconnected, or too slow

  const auto& message = parser_->get();
  Request request{.method = std::string(message.method_string()),
                  .target = std::string(message.target()),
                  .host = std::string(message[wire::field::host]),
                  .origin = std::string(message[wire::field::origin]),
                  .body = std::move(parser_->get().body()),
                  .authorization = std::string(message[wire::field::authorization]),
                  .patience = std::string(message["X-Envoy-Expected-Rq-Timeout-Ms"])};
  keep_alive_ = message.keep_alive() && message.method() != wire::verb::head;  // whose answers have no body
  version_ = message.version();
  for (const wire::field name : {wire::field::host, wire::field::origin, wire::field::authorization})
    if (message.count(name) > 1) return refuse_request(400, "a header is repeated");
  gone_ = std::make_shared<std::atomic<bool>>(false);
  stream_.expires_never();
  watch();
  shared_.handler(std::make_shared<PostedExchange>(shared_from_this(), owner_, std::move(request), gone_));
}

}  // namespace
}  // namespace attend::http
