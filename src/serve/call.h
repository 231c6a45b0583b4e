// One request from its arrival to the line in the log.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>

#include "http/exchange.h"
#include "serve/batcher.h"
#include "serve/metrics.h"
#include "serve/refused.h"

namespace attend::serve {

// Told of each request when it is over.
using Journal = std::function<void(const Finished& request)>;

class Call {
 public:
  // in_progress: counts those that are to be computed; a null pointer for what is answered at once.
  Call(std::shared_ptr<http::Exchange> exchange, std::string route, Family family, const Journal& journal,
       std::atomic<std::int64_t>* in_progress);
  ~Call();  // without an answer: its client has gone
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  const http::Request& request() const noexcept { return exchange_->request(); }
  bool gone() const noexcept { return exchange_->gone(); }
  void set_timeout(std::chrono::milliseconds timeout) noexcept { timeout_ = timeout; }  // from its arrival
  void require_in_time() const;                         // throws Refused once it has taken longer than that
  void count(std::int64_t texts, std::int64_t tokens);  // when they have been tokenized
  void count_written(std::int64_t tokens) { finished_.tokens += tokens; }
  void computed(const Times& times);

  void answer(http::Response response);
  void refuse(const Refused& refused) {
    finished_.error = refused.logged;
    answer(refusal(family_, refused));
  }
  // In pieces, as server-sent events: a refusal after begin() is the last of them.
  void begin();
  void send(const std::string& data);  // one event: JSON, which has no line ends
  void end();

 private:
  void finish(int status);
  void add_times(http::Response& response) const;

  std::shared_ptr<http::Exchange> exchange_;
  const Family family_;
  const Journal& journal_;
  std::atomic<std::int64_t>* const in_progress_;
  const Clock::time_point start_ = Clock::now();
  std::chrono::milliseconds timeout_ = std::chrono::hours(24);
  Finished finished_;
  bool begun_ = false, over_ = false;
};

// Runs part of an answer; what it throws is the answer.
template <class Action>
void answering(Call& call, const Action& action) {
  try {
    action();
  } catch (const std::exception& error) {
    call.refuse(refused_by(error));
  }
}

}  // namespace attend::serve
