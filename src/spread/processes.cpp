// What is the same for all kinds of processes: traffic is counted where it starts, waiting where it ends.
#include <attend/processes.h>

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/interrupt.h"

namespace attend {

// A core that only waits is left to others, but not for long.
void Transfer::wait() {
  constexpr std::chrono::microseconds kPause{20};
  while (!done()) {
    interruption_point();
    std::this_thread::sleep_for(kPause);
  }
}

class Processes::Timed : public Transfer {
 public:
  Timed(Processes& processes, std::unique_ptr<Transfer> transfer)
      : processes_(processes), transfer_(std::move(transfer)) {}
  bool done() override { return transfer_->done(); }
  void wait() override {
    const auto start = std::chrono::steady_clock::now();
    transfer_->wait();
    processes_.seconds_waited_ +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

 private:
  Processes& processes_;
  std::unique_ptr<Transfer> transfer_;
};

std::unique_ptr<Transfer> Processes::start(std::span<const Outgoing> outgoing,
                                           std::span<const Incoming> incoming,
                                           std::shared_ptr<const void> memory) {
  constexpr const char* kOperation = "processes";
  const auto require_other = [&](const char* what, int process) {
    if (process < 0 || process >= count() || process == rank())
      refuse(kOperation, what, " process ", process, " by process ", rank(), " of ", count());
  };
  // Both sides know how long a message is, so an empty one need not be sent.
  std::vector<Outgoing> sent;
  for (const Outgoing& message : outgoing) {
    require_other("a message was sent to", message.to);
    if (message.bytes.empty()) continue;
    sent.push_back(message);
    bytes_sent_ += static_cast<std::int64_t>(message.bytes.size());
  }
  std::vector<Incoming> received;
  for (const Incoming& message : incoming) {
    require_other("a message was expected from", message.from);
    if (!message.bytes.empty()) received.push_back(message);
  }
  return std::make_unique<Timed>(*this, begin(sent, received, std::move(memory)));
}

}  // namespace attend
