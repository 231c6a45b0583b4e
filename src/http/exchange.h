// A request on its way to an answer, which may come later, from any thread, and in pieces.
#pragma once

#include <string>

#include "http/message.h"

namespace attend::http {

// Either answer(), or begin(), send() any number of times and end(). One thread at a time; none of them waits
// for the client. An exchange that is dropped without any of them closes the connection.
class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual Request& request() noexcept = 0;
  virtual void answer(Response response) = 0;

  // An answer that is sent as it grows: status, type and headers of `head`, whose body is its first piece. Of
  // a client that does not take what it is sent, no more than kMostUnsentBytes are kept: it is then gone.
  virtual void begin(Response head) = 0;
  virtual void send(std::string piece) = 0;
  virtual void end() = 0;

  // The client has closed its connection, or its half of it: nobody waits for the answer.
  virtual bool gone() const noexcept = 0;
  // The server was told to stop.
  virtual bool stopping() const noexcept = 0;
};

inline constexpr std::size_t kMostUnsentBytes = 1 << 20;

}  // namespace attend::http
