#include "serve/call.h"

#include <utility>

namespace attend::serve {
namespace {

constexpr int kClientGone = 499;  // as nginx writes it into its logs; nobody is sent this

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

std::string milliseconds(double seconds) { return std::to_string(static_cast<std::int64_t>(seconds * 1000)); }

}  // namespace

Call::Call(std::shared_ptr<http::Exchange> exchange, std::string route, Family family, const Journal& journal,
           std::atomic<std::int64_t>* in_progress)
    : exchange_(std::move(exchange)),
      family_(family),
      journal_(journal),
      in_progress_(in_progress),
      finished_{.route = std::move(route)} {
  if (in_progress_ != nullptr) ++*in_progress_;
}

Call::~Call() {
  if (!over_) finish(kClientGone);
}

void Call::require_in_time() const {
  if (Clock::now() - start_ > timeout_)
    refuse_with(Fault::late, "the request was not answered within ", timeout_.count(), " ms");
}

void Call::count(std::int64_t texts, std::int64_t tokens) {
  finished_.texts = texts;
  finished_.tokens = tokens;
  finished_.tokenizing = seconds_between(start_, Clock::now());
}

void Call::computed(const Times& times) {
  finished_.queued = seconds_between(times.queued, times.begun);
  finished_.computing = seconds_between(times.begun, times.finished);
}

void Call::answer(http::Response response) {
  if (begun_) {  // the status is sent already
    send(response.body);
    return end();
  }
  if (finished_.texts > 0) add_times(response);
  finish(exchange_->gone() ? kClientGone : response.status);
  exchange_->answer(std::move(response));
}

void Call::begin() {
  begun_ = true;
  exchange_->begin({.type = "text/event-stream"});
}

void Call::send(const std::string& data) { exchange_->send("data: " + data + "\n\n"); }

void Call::end() {
  finish(exchange_->gone() ? kClientGone : 200);
  exchange_->end();
}

void Call::finish(int status) {
  over_ = true;
  finished_.status = status;
  finished_.seconds = seconds_between(start_, Clock::now());
  if (in_progress_ != nullptr) --*in_progress_;
  journal_(finished_);
}

void Call::add_times(http::Response& response) const {
  response.headers.insert(response.headers.end(),
                          {{"X-Compute-Type", "cpu"},
                           {"X-Compute-Tokens", std::to_string(finished_.tokens)},
                           {"X-Total-Time", milliseconds(seconds_between(start_, Clock::now()))},
                           {"X-Tokenization-Time", milliseconds(finished_.tokenizing)},
                           {"X-Queue-Time", milliseconds(finished_.queued)},
                           {"X-Inference-Time", milliseconds(finished_.computing)}});
}

}  // namespace attend::serve
