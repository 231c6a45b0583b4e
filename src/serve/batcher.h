// Texts of many requests, computed together, without waiting for more.
//
// One thread computes, with all the threads that the library has. Whenever it is free it takes some of the
// texts that wait. A text's vector has the same bits whatever it is computed with.
//
// How many: a quarter of the tokens that wait. All of a batch is answered when its last text is computed, so
// a large one makes its first texts wait; but where many wait, it saves time for all.
//
// Which: those that are due first. A text is due after the time that its request's tokens take up to and
// including this text, twice over, counted from the request's arrival. Among requests of a few texts that is
// first come, first served; one of 2,048 texts lets others pass, and still has half of the machine.
#pragma once

#include <attend/text_model.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace attend::serve {

using Clock = std::chrono::steady_clock;

// What is computed of each text: its vector, a vector of each token, or the scores of the model's head.
enum class Result : std::uint8_t { vector, token_vectors, scores };

// When a request began to wait, to be computed, and when it was.
struct Times {
  Clock::time_point queued{}, begun{}, finished{};
};

// What one request wants computed: something of its texts, or anything else that takes long.
struct Work : Times, std::enable_shared_from_this<Work> {
  std::shared_ptr<const TextModel> model{};
  std::vector<Encoding> texts{};
  Result result = Result::vector;
  std::function<void()> task{};       // instead of texts; may throw
  std::function<bool()> wanted{};     // whether somebody still waits for it; from any thread
  std::function<void()> in_time{};    // throws once it has taken too long; from any thread; may be empty
  std::function<void(Work&)> done{};  // on the computing thread, so it hands on what takes time

  // The answer: (1, size) of each text or (tokens, size), not normalised; (1, labels) before any function; or
  // what was thrown.
  std::vector<Tensor> vectors{};
  std::exception_ptr failure{};

  std::int64_t tokens() const noexcept;
};

struct BatcherOptions {
  std::int64_t batch_tokens = 2048;
  std::int64_t waiting_tokens = std::int64_t{1} << 20;
};

class Batcher {
 public:
  // computed(texts, tokens): after each batch.
  explicit Batcher(const BatcherOptions& options,
                   std::function<void(std::int64_t, std::int64_t)> computed = {});
  ~Batcher();  // after all work that was added
  Batcher(const Batcher&) = delete;
  Batcher& operator=(const Batcher&) = delete;

  // false: as many tokens wait as may, and others are among them.
  bool add(std::shared_ptr<Work> work);

  // Drops the work that nobody waits for any more, without calling done().
  void drop_unwanted();

  std::int64_t waiting_tokens() const;
  std::int64_t waiting_requests() const;

 private:
  // A request, of which the first texts may be computed already.
  struct Waiting {
    std::shared_ptr<Work> work;
    std::size_t next = 0;
    std::int64_t tokens = 0;  // of the texts before `next`
  };
  // Texts [first, last) of a request.
  struct Part {
    std::shared_ptr<Work> work;
    std::size_t first, last;
  };

  void run();
  std::vector<Part> take();
  void refuse_late(std::unique_lock<std::mutex>& lock);
  std::deque<Waiting>::iterator first_due();
  Clock::time_point due(const Waiting& request) const;
  static void add_text(std::vector<Part>& parts, const std::shared_ptr<Work>& work, std::size_t text);
  void compute(const std::vector<Part>& parts);
  static void compute_together(const std::vector<Part>& parts);

  const BatcherOptions options_;
  const std::function<void(std::int64_t, std::int64_t)> computed_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Waiting> waiting_;  // in the order of their arrival
  std::int64_t waiting_tokens_ = 0;
  double seconds_per_token_ = 0;  // lately; of the computing thread
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace attend::serve
