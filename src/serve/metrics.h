// What is counted while the server runs, in the text format that Prometheus reads.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace attend::serve {

// One request that is over.
struct Finished {
  std::string route{};  // one of the server's own, never what was sent
  int status = 0;
  std::int64_t texts = 0, tokens = 0;
  double seconds = 0;                                // from the end of the request to its answer
  double tokenizing = 0, queued = 0, computing = 0;  // parts of it
  std::string error{};                               // for the log alone
};

class Histogram {
 public:
  // Bounds first, first * 2, ...
  explicit Histogram(double first) : first_(first) {}
  void add(double value);
  void write(std::string& text, const std::string& name, const std::string& label) const;

 private:
  static constexpr int kBuckets = 16;
  double first_, sum_ = 0;
  std::array<std::int64_t, kBuckets + 1> counts_{};  // the last is of what is above all bounds
};

class Metrics {
 public:
  void add(const Finished& request);
  void add_batch(std::int64_t texts, std::int64_t tokens);
  void add_step(std::int64_t texts);  // of a model that writes

  struct Now {
    std::int64_t requests = 0, waiting_requests = 0, waiting_tokens = 0, writing_texts = 0;
  };
  std::string text(const Now& now) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, std::int64_t> requests_;  // by route and status
  std::int64_t texts_ = 0, tokens_ = 0;
  std::map<std::string, Histogram> seconds_;  // by route
  Histogram queued_{0.001}, computing_{0.001}, batch_texts_{1}, batch_tokens_{16}, step_texts_{1};
};

}  // namespace attend::serve
