// Retries a failed connection a few times, with growing pauses.
#pragma once

#include <chrono>
#include <string>
#include <thread>

#include "hub/http.h"
#include "io/fail.h"

namespace attend::hub {

// The hub did not answer, which says nothing about the model.
struct Unreachable : FileError {
  using FileError::FileError;
};

// Too many requests, or a server in trouble.
inline bool is_temporary(long status) { return status == 429 || (status >= 500 && status < 600); }

// Pauses after a failure, or throws Unreachable after the fifth in a row.
class Patience {
 public:
  explicit Patience(std::string repository) : repository_(std::move(repository)) {}
  void after(const ConnectionError& error) {
    if (++failures_ == kMost)
      throw Unreachable(repository_, "", "the hub cannot be reached: " + io::shown(error.what()));
    std::this_thread::sleep_for(std::chrono::milliseconds(100 << failures_));  // 0.2, 0.4, 0.8, 1.6 s
  }
  void renew() { failures_ = 0; }

 private:
  static constexpr int kMost = 5;
  std::string repository_;
  int failures_ = 0;
};

// The answer to a request, retried until there is one.
template <class Request>
HttpResponse ask(const std::string& repository, Request request) {
  Patience patience(repository);
  for (;;) {
    try {
      HttpResponse response = request();
      if (!is_temporary(response.status)) return response;
      patience.after(ConnectionError("the hub answered " + std::to_string(response.status)));
    } catch (const ConnectionError& error) {
      patience.after(error);
    }
  }
}

}  // namespace attend::hub
