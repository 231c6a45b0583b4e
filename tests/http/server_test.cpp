// The server: answers in pieces, clients that go away, limits, and how it ends.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <future>
#include <string>
#include <thread>

#include "http/server.h"
#include "http/workers.h"

namespace attend::http {
namespace {

using namespace std::chrono_literals;

class Client {
 public:
  explicit Client(const std::string& address) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in place{.sin_family = AF_INET, .sin_port = {}, .sin_addr = {}, .sin_zero = {}};
    place.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(socket_, reinterpret_cast<const sockaddr*>(&place), sizeof place) == 0;
  }
  ~Client() { close(); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool connected() const { return connected_; }
  void close() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }
  void send(const std::string& text) {
    ASSERT_EQ(::send(socket_, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  // Until this text has arrived, or the other side closes.
  std::string until(const std::string& end) {
    std::string got;
    char piece[4096];
    while (got.find(end) == got.npos) {
      const ssize_t count = ::recv(socket_, piece, sizeof piece, 0);
      if (count <= 0) break;
      got.append(piece, static_cast<std::size_t>(count));
    }
    return got;
  }
  std::string rest() { return until("never\x01"); }

 private:
  int socket_;
  bool connected_ = false;
};

// A server that lives as long as this does.
class Running {
 public:
  explicit Running(Handler handler, ServerOptions options = {}) : handler_(std::move(handler)) {
    std::promise<std::string> address;
    options.port = 0;
    options.ready = [&](const std::string& text) { address.set_value(text.substr(0, text.size() - 1)); };
    thread_ = std::thread([this, options] { serve(handler_, options); });
    address_ = address.get_future().get();
  }
  ~Running() { stop(); }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  const std::string& address() const { return address_; }
  static void signal(int number) { ::kill(::getpid(), number); }
  void stop() {
    if (!thread_.joinable()) return;
    signal(SIGTERM);
    thread_.join();
  }
  void join() { thread_.join(); }

 private:
  Handler handler_;
  std::thread thread_;
  std::string address_;
};

using Shared = std::shared_ptr<Exchange>;

template <class Condition>
bool comes_true(const Condition& condition) {
  for (int i = 0; i < 500 && !condition(); ++i) std::this_thread::sleep_for(10ms);
  return condition();
}

TEST(Server, AnswersInPiecesAndGoesOn) {
  const Running server([](const Shared& exchange) {
    exchange->begin({.type = "text/event-stream", .body = "one,"});
    exchange->send("");
    exchange->send("and two");
    exchange->end();
  });
  Client client(server.address());
  for (int i = 0; i < 2; ++i) {
    client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    const std::string answer = client.until("\r\n0\r\n\r\n");
    EXPECT_NE(answer.find("Transfer-Encoding: chunked"), answer.npos);
    EXPECT_NE(answer.find("\r\n\r\n4\r\none,\r\n7\r\nand two\r\n0\r\n\r\n"), answer.npos) << answer;
  }
  client.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");  // knows no chunks
  const std::string answer = client.rest();
  EXPECT_EQ(answer.find("chunked"), answer.npos);
  EXPECT_TRUE(answer.ends_with("\r\n\r\none,and two")) << answer;
}

TEST(Server, AnswersFromAnotherThread) {
  Workers workers(2);
  const Running server([&](Shared exchange) {
    workers.add([exchange = std::move(exchange)] {
      exchange->answer({.body = exchange->request().body + exchange->request().authorization});
    });
  });
  Client client(server.address());
  client.send("POST / HTTP/1.1\r\nAuthorization: Bearer k\r\nContent-Length: 2\r\n\r\nab");
  EXPECT_TRUE(client.until("Bearer k").ends_with("\r\n\r\nabBearer k"));
}

TEST(Server, NoticesThatAClientWentAway) {
  std::promise<Shared> promise;
  const Running server([&](const Shared& exchange) { promise.set_value(exchange); });
  Client client(server.address());
  client.send("GET / HTTP/1.1\r\n\r\n");
  Shared exchange = promise.get_future().get();
  EXPECT_FALSE(exchange->gone());
  client.close();
  EXPECT_TRUE(comes_true([&] { return exchange->gone(); }));
  exchange->answer({});  // which nobody gets
}

TEST(Server, KeepsLittleOfWhatIsNotTaken) {
  std::promise<Shared> promise;
  const Running server([&](const Shared& exchange) { promise.set_value(exchange); });
  Client client(server.address());
  client.send("GET / HTTP/1.1\r\n\r\n");
  Shared exchange = promise.get_future().get();
  exchange->begin({});
  int pieces = 0;
  for (; pieces < 1000 && !exchange->gone(); ++pieces) {
    exchange->send(std::string(1 << 16, 'x'));
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_LT(pieces, 500);  // what the system takes, and a megabyte
}

TEST(Server, AnExchangeThatIsDroppedClosesTheConnection) {
  const Running server([](const Shared&) {});
  Client client(server.address());
  client.send("GET / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(client.rest(), "");
}

TEST(Server, AsksForTheBodyOfACarefulClient) {
  const Running server([](const Shared& exchange) { exchange->answer({.body = exchange->request().body}); });
  Client client(server.address());
  client.send("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
  EXPECT_EQ(client.until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("abc");
  EXPECT_TRUE(client.until("abc").ends_with("\r\n\r\nabc"));
}

TEST(Server, LimitsAreThoseThatWereGiven) {
  const Running server([](const Shared& exchange) { exchange->answer({}); },
                       {.limits = {.header_bytes = 200, .body_bytes = 10, .connections = 2, .idle = 1s},
                        .refusal = [](int status, const std::string& sentence) {
                          return Response{.status = status, .body = "<" + sentence + ">"};
                        }});
  const auto ask = [&](const std::string& request) {
    Client client(server.address());
    client.send(request);
    return client.rest();
  };
  EXPECT_NE(ask("GET / HTTP/1.1\r\nX: " + std::string(300, 'x') + "\r\n\r\n").find("more than 200 bytes>"),
            std::string::npos);
  EXPECT_NE(ask("POST / HTTP/1.1\r\nContent-Length: 11\r\n\r\n").find("more than 10 bytes>"),
            std::string::npos);
  EXPECT_NE(ask("nonsense\r\n\r\n").find("<this is not valid HTTP>"), std::string::npos);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(ask("GET / HTTP/1.1\r\n"), "");  // half a request: closed after a second
  EXPECT_LT(std::chrono::steady_clock::now() - start, 10s);

  Client first(server.address()), second(server.address());
  std::this_thread::sleep_for(50ms);
  Client third(server.address());  // while nobody has been idle for a second
  EXPECT_TRUE(third.rest().starts_with("HTTP/1.1 503 "));
}

TEST(Server, GoesOnForAWhileAfterSigterm) {
  std::atomic<bool> slow_asked = false;
  std::promise<Shared> slow;
  Running server(
      [&](const Shared& exchange) {
        if (exchange->request().target == "/slow") {
          slow_asked = true;
          return slow.set_value(exchange);
        }
        exchange->answer({.body = exchange->stopping() ? "stopping" : "serving"});
      },
      {.grace = 1s});
  const auto ask = [&] {
    Client client(server.address());
    client.send("GET / HTTP/1.1\r\nConnection: close\r\n\r\n");
    return client.rest();
  };
  EXPECT_TRUE(ask().ends_with("serving"));
  Client waiting(server.address());
  waiting.send("GET /slow HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(comes_true([&] { return slow_asked.load(); }));
  Running::signal(SIGTERM);
  EXPECT_TRUE(comes_true([&] { return ask().ends_with("stopping"); }));
  EXPECT_TRUE(comes_true([&] { return !Client(server.address()).connected(); }));
  slow.get_future().get()->answer({.body = "late"});  // what was begun is finished
  EXPECT_TRUE(waiting.rest().ends_with("late"));
  server.join();
}

TEST(Server, DropsWhatIsNotFinishedInTime) {
  std::atomic<bool> asked = false;
  std::promise<Shared> promise;
  Running server(
      [&](const Shared& exchange) {
        asked = true;
        promise.set_value(exchange);
      },
      {.drain = 1s});
  Client waiting(server.address());
  waiting.send("GET /slow HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(comes_true([&] { return asked.load(); }));
  Shared exchange = promise.get_future().get();
  const auto start = std::chrono::steady_clock::now();
  Running::signal(SIGTERM);
  EXPECT_EQ(waiting.rest(), "");
  EXPECT_TRUE(exchange->gone());  // whoever works on it can stop
  EXPECT_GE(std::chrono::steady_clock::now() - start, 900ms);
  exchange.reset();
  server.join();
  EXPECT_LT(std::chrono::steady_clock::now() - start, 10s);
}

TEST(Server, SaysWhyItCannotListen) {
  const auto sentence = [](const ServerOptions& options) -> std::string {
    try {
      serve([](const Shared&) {}, options);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(sentence({.host = "example.org"}),
            "\"example.org\" is not an address such as 127.0.0.1 or 0.0.0.0");
  EXPECT_EQ(sentence({.host = "192.0.2.1", .port = 1234}),
            "port 1234 of 192.0.2.1 is in use, or this user may not listen on it");
}

}  // namespace
}  // namespace attend::http
