#include "base/interrupt.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace attend {
namespace {

// Twenty times a second feels immediate to a person. A check that takes long, as one does that waits for
// Python's interpreter lock (5 ms while another thread computes there), is made less often: it may cost 2%.
constexpr std::int64_t kInterval = 50'000'000, kLongestInterval = 500'000'000;
constexpr std::int64_t kPartOfTime = 50;

std::int64_t exact_now() noexcept {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Asked once for every chunk: the kernel's own tick, good to 4 ms, is read in a quarter of the time.
std::int64_t now() noexcept {
#if defined(CLOCK_MONOTONIC_COARSE)
  timespec time{};
  if (clock_gettime(CLOCK_MONOTONIC_COARSE, &time) == 0) {
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  }
#endif
  return exact_now();
}

thread_local Interruptible* asked = nullptr;                  // none inside a job
thread_local WatchedJob* watched = nullptr;                   // the job that this thread runs
thread_local const std::atomic<bool>* others_flag = nullptr;  // of the jobs that it works for

}  // namespace

class InterruptionAccess {
 public:
  static bool is_time(const Interruptible& one) noexcept { return one.check_ && now() >= one.next_; }

  static void ask(Interruptible& one) {
    const std::int64_t start = exact_now();
    one.next_ = now() + kLongestInterval;  // also for calls that the check itself makes
    one.check_();
    const std::int64_t pause = std::clamp(kPartOfTime * (exact_now() - start), kInterval, kLongestInterval);
    one.next_ = now() + pause;
  }
};

Interruptible::Interruptible(std::function<void()> check)
    : check_(std::move(check)), next_(now() + kInterval), outer_(std::exchange(asked, this)) {}

Interruptible::~Interruptible() { asked = outer_; }

void detail::interruption_point() {
  if (asked != nullptr && InterruptionAccess::is_time(*asked)) InterruptionAccess::ask(*asked);
}

bool detail::abandoned() noexcept {
  if (watched != nullptr) return watched->abandoned();
  return others_flag != nullptr && others_flag->load(std::memory_order_relaxed);
}

WatchedJob::WatchedJob(std::atomic<bool>& flag) noexcept
    : flag_(flag), asked_(std::exchange(asked, nullptr)), outer_(std::exchange(watched, this)) {}

WatchedJob::~WatchedJob() {
  asked = asked_;
  watched = outer_;
}

bool WatchedJob::abandoned() noexcept {
  if (asked_ == nullptr) return false;
  if (thrown_) return true;
  if (!InterruptionAccess::is_time(*asked_)) return false;
  try {
    InterruptionAccess::ask(*asked_);
  } catch (...) {
    thrown_ = std::current_exception();
    flag_.store(true, std::memory_order_relaxed);
    return true;
  }
  return false;
}

void detail::look_at(const std::atomic<bool>& flag) noexcept { others_flag = &flag; }

}  // namespace attend
