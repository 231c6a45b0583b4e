// The processes over which one sequence is spread (attend/spread_attention.h): which of them this is, how
// many there are, and bytes that go from one to another. attend::mpi, a library of its own, has those of an
// mpirun (attend/mpi_processes.h); whatever else can send bytes may stand in for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace attend {

struct Outgoing {
  int to = 0;
  std::span<const std::byte> bytes{};
};

struct Incoming {
  int from = 0;
  std::span<std::byte> bytes{};
};

// Messages that are under way. One that is destroyed before all of them have been sent and received was given
// up: the processes are then out of step, and no further transfer starts.
class Transfer {
 public:
  virtual ~Transfer() = default;
  // Whether all of them have been sent and received. Throws where that has failed.
  virtual bool done() = 0;
  // Returns when they have. Can be interrupted (attend/interrupt.h).
  virtual void wait();
};

// One of `count()` processes that all make the same calls in the same order. Not for several threads at once.
class Processes {
 public:
  virtual ~Processes() = default;
  virtual int rank() const noexcept = 0;  // 0 ... count() - 1
  virtual int count() const noexcept = 0;

  // Begins to send and to receive, of and to others only, and returns at once; what is computed before wait()
  // is computed meanwhile. Messages from one process to another arrive in the order in which they were sent,
  // and both sides give them the same size. `memory` owns what the messages are in, and is kept for as long
  // as any of them may still be read or written.
  std::unique_ptr<Transfer> start(std::span<const Outgoing> outgoing, std::span<const Incoming> incoming,
                                  std::shared_ptr<const void> memory);

  // Since the beginning.
  std::int64_t bytes_sent() const noexcept { return bytes_sent_; }
  double seconds_waited() const noexcept { return seconds_waited_; }  // in wait(): not hidden by computing

 private:
  virtual std::unique_ptr<Transfer> begin(std::span<const Outgoing> outgoing,
                                          std::span<const Incoming> incoming,
                                          std::shared_ptr<const void> memory) = 0;
  class Timed;
  std::int64_t bytes_sent_ = 0;
  double seconds_waited_ = 0;
};

}  // namespace attend
