// Processes that are threads of this one, for what is computed over several: messages are copied from one to
// another.
#pragma once

#include <attend/interrupt.h>
#include <attend/processes.h>

#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace attend {

// What all of them share: messages that have been sent and not received.
class Mailbox {
 public:
  void put(int from, int to, std::vector<std::byte> message) {
    const std::lock_guard lock(mutex_);
    messages_[{from, to}].push_back(std::move(message));
  }
  bool has(int from, int to) {
    const std::lock_guard lock(mutex_);
    if (closed_) throw std::runtime_error("another process has ended");
    return !messages_[{from, to}].empty();
  }
  std::vector<std::byte> take(int from, int to) {
    const std::lock_guard lock(mutex_);
    std::vector<std::byte> message = std::move(messages_[{from, to}].front());
    messages_[{from, to}].pop_front();
    return message;
  }
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<int, int>, std::deque<std::vector<std::byte>>> messages_;
  bool closed_ = false;
};

class ThreadProcesses : public Processes {
 public:
  ThreadProcesses(Mailbox& mailbox, int rank, int count) : mailbox_(mailbox), rank_(rank), count_(count) {}
  int rank() const noexcept override { return rank_; }
  int count() const noexcept override { return count_; }

 private:
  class Delivery : public Transfer {
   public:
    Delivery(Mailbox& mailbox, int rank, std::vector<Incoming> incoming, std::shared_ptr<const void> memory)
        : mailbox_(mailbox), rank_(rank), incoming_(std::move(incoming)), memory_(std::move(memory)) {}
    bool done() override {
      for (; next_ < incoming_.size(); ++next_) {
        const Incoming& expected = incoming_[next_];
        if (!mailbox_.has(expected.from, rank_)) return false;
        const std::vector<std::byte> message = mailbox_.take(expected.from, rank_);
        if (message.size() != expected.bytes.size())
          throw std::logic_error("a message of " + std::to_string(message.size()) + " bytes, expected " +
                                 std::to_string(expected.bytes.size()));
        std::memcpy(expected.bytes.data(), message.data(), message.size());
      }
      return true;
    }

   private:
    Mailbox& mailbox_;
    int rank_;
    std::vector<Incoming> incoming_;
    std::shared_ptr<const void> memory_;
    std::size_t next_ = 0;
  };

  std::unique_ptr<Transfer> begin(std::span<const Outgoing> outgoing, std::span<const Incoming> incoming,
                                  std::shared_ptr<const void> memory) override {
    for (const Outgoing& message : outgoing)
      mailbox_.put(rank_, message.to, {message.bytes.begin(), message.bytes.end()});
    return std::make_unique<Delivery>(
        mailbox_, rank_, std::vector<Incoming>(incoming.begin(), incoming.end()), std::move(memory));
  }

  Mailbox& mailbox_;
  int rank_, count_;
};

// Runs the same function as each of `count` processes; throws what the first of them threw.
inline void as_processes(int count, const std::function<void(Processes&)>& run) {
  Mailbox mailbox;
  std::vector<std::thread> threads;
  std::exception_ptr thrown;
  std::mutex mutex;
  for (int rank = 0; rank < count; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        ThreadProcesses processes(mailbox, rank, count);
        run(processes);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!thrown) thrown = std::current_exception();
        mailbox.close();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace attend
