// Where long work asks whether it is still wanted (attend/interrupt.h).
#pragma once

#include <attend/interrupt.h>

#include <atomic>
#include <exception>

#include "base/detail.h"

namespace attend::detail {

// Between two parts of long work that no job does, such as the texts of a list: throws what the thread's
// check throws. Costs some nanoseconds, and does nothing inside a job.
void interruption_point();

// Inside a job, between the tiles of a chunk that may take long: whether its results are no longer wanted, so
// that the rest of the chunk can be left out.
bool abandoned() noexcept;

// The job that a thread runs. Chunks must not throw, so the thread's check is kept from the jobs and the
// points inside this one, and what it throws waits here until no chunk runs any more.
class WatchedJob {
 public:
  // flag: becomes true when the job is abandoned.
  explicit WatchedJob(std::atomic<bool>& flag) noexcept;
  ~WatchedJob();
  WatchedJob(const WatchedJob&) = delete;
  WatchedJob& operator=(const WatchedJob&) = delete;

  // Asks when it is time to; by the thread that runs the job.
  bool abandoned() noexcept;

  // When no chunk runs any more, and nothing that the chunks needed is held.
  void rethrow() {
    if (thrown_) std::rethrow_exception(thrown_);
  }

 private:
  std::atomic<bool>& flag_;
  Interruptible* const asked_;
  WatchedJob* const outer_;
  std::exception_ptr thrown_;
};

// A thread that works for others' jobs looks at their flag.
void look_at(const std::atomic<bool>& flag) noexcept;

}  // namespace attend::detail
