// Threads for what the thread of the connections must not do itself: work that takes time, in the order in
// which it comes.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace attend::http {

class Workers {
 public:
  explicit Workers(int count);
  ~Workers();  // after all work that was given
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // An exception of `work` is dropped, so what must be told of one is told by `work`.
  void add(std::function<void()> work);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> waiting_;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace attend::http
