// A claim pool: workers take chunks by compare-and-swap, the caller works too, and the join waits only for
// chunks that somebody has claimed. A worker that the system does not schedule therefore costs nothing: the
// caller does its share. Spinning is bounded (about 0.1 ms), then workers park, so an idle program burns no
// time.
#include <attend/threads.h>

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/control_groups.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/parallel.h"

namespace attend {
namespace {

constexpr int kMostThreads = 1024;
constexpr int kSpins = 2000;

void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

// Those this process may run on, which taskset makes fewer than the machine has.
int allowed_cores() {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
#endif
  return static_cast<int>(std::thread::hardware_concurrency());
}

// A container may have all cores but little time on them. Threads beyond that time do not run side by side:
// they use it up together, and then all of them wait for the next period.
int usable_cores() {
  const double quota = std::ceil(detail::cores_of_control_groups());
  return quota < allowed_cores() ? static_cast<int>(quota) : allowed_cores();
}

int default_threads() {
  const char* text = std::getenv("ATTEND_THREADS");
  if (text == nullptr || *text == '\0') {
    return std::clamp(usable_cores(), 1, kMostThreads);
  }
  int count = 0;
  const char* const end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, count);
  if (error != std::errc{} || stop != end || count < 1 || count > kMostThreads) {
    refuse("threads", "ATTEND_THREADS is \"", text, "\", expected a whole number from 1 to ", kMostThreads);
  }
  return count;
}

thread_local bool inside_job = false;  // a job within a job is carried out by its caller alone

class ClaimPool {
 public:
  explicit ClaimPool(int lanes) {
    try {
      for (int lane = 1; lane < lanes; ++lane) workers_.emplace_back([this, lane] { work(lane); });
    } catch (const std::exception&) {
      // The system gives no more threads, or no memory for them: those that exist do the work.
    }
  }

  ~ClaimPool() {
    {
      const std::lock_guard lock(parking_);
      stopping_.store(true);
    }
    wake_.notify_all();
    for (auto& worker : workers_) worker.join();
  }

  // Until all chunks are done, or the job is abandoned and those that were begun are.
  void run(std::int64_t chunks, int lanes, detail::ChunkBody body, void* context, WatchedJob& job) {
    abandoned_.store(false, std::memory_order_relaxed);
    lanes_.store(lanes, std::memory_order_relaxed);
    body_.store(body, std::memory_order_relaxed);
    context_.store(context, std::memory_order_relaxed);
    count_.store(static_cast<std::uint32_t>(chunks), std::memory_order_relaxed);
    done_.store(0, std::memory_order_relaxed);
    ++generation_;
    ticket_.store((generation_ << 32) | static_cast<std::uint64_t>(chunks), std::memory_order_seq_cst);
    if (parked_.load(std::memory_order_seq_cst) > 0) {
      {
        const std::lock_guard lock(parking_);
      }  // a worker between its last look and its wait holds this
      wake_.notify_all();
    }
    while (!job.abandoned() && claim_and_run(0)) {
    }
    for (int spin = 0; done_.load(std::memory_order_acquire) != static_cast<std::uint32_t>(chunks); ++spin) {
      if (job.abandoned()) claim_the_rest();
      spin < kSpins ? relax() : std::this_thread::yield();
    }
  }

  std::atomic<bool>& abandoned() noexcept { return abandoned_; }

 private:
  // Chunks that nobody has begun count as done.
  void claim_the_rest() {
    std::uint64_t ticket = ticket_.load(std::memory_order_acquire);
    if ((ticket & 0xffffffffu) == 0) return;
    while (!ticket_.compare_exchange_weak(ticket, ticket & ~std::uint64_t{0xffffffffu})) {
    }
    done_.fetch_add(static_cast<std::uint32_t>(ticket & 0xffffffffu), std::memory_order_release);
  }

  // The ticket is the job's generation and how many of its chunks nobody has claimed yet. A successful
  // exchange proves that the job was still the current one, and keeps it so until this chunk is counted as
  // done: only then are its fields read.
  bool claim_and_run(int lane) {
    std::uint64_t ticket = ticket_.load(std::memory_order_acquire);
    while ((ticket & 0xffffffffu) != 0 && lane < lanes_.load(std::memory_order_relaxed)) {
      if (!ticket_.compare_exchange_weak(ticket, ticket - 1, std::memory_order_acq_rel)) continue;
      const std::uint64_t unclaimed = ticket & 0xffffffffu;
      const auto chunk = static_cast<std::int64_t>(count_.load(std::memory_order_relaxed) - unclaimed);
      body_.load(std::memory_order_relaxed)(context_.load(std::memory_order_relaxed), chunk, lane);
      done_.fetch_add(1, std::memory_order_release);
      return true;
    }
    return false;
  }

  bool has_work(int lane) const {
    return (ticket_.load(std::memory_order_seq_cst) & 0xffffffffu) != 0 &&
           lane < lanes_.load(std::memory_order_relaxed);
  }

  void work(int lane) {
    inside_job = true;
    look_at(abandoned_);
    for (;;) {
      int spin = 0;
      while (spin < kSpins && !stopping_.load(std::memory_order_relaxed)) {
        if (claim_and_run(lane)) {
          spin = 0;
        } else {
          relax();
          ++spin;
        }
      }
      std::unique_lock lock(parking_);
      parked_.fetch_add(1, std::memory_order_seq_cst);
      wake_.wait(lock, [this, lane] { return stopping_.load() || has_work(lane); });
      parked_.fetch_sub(1, std::memory_order_seq_cst);
      if (stopping_.load()) return;
    }
  }

  std::atomic<detail::ChunkBody> body_{nullptr};
  std::atomic<void*> context_{nullptr};
  std::atomic<std::uint32_t> count_{0};
  std::atomic<int> lanes_{0};
  std::atomic<std::uint64_t> ticket_{0};
  std::atomic<std::uint32_t> done_{0};
  std::atomic<bool> abandoned_{false};
  std::uint64_t generation_ = 0;

  std::mutex parking_;
  std::condition_variable wake_;
  std::atomic<int> parked_{0};
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> workers_;
};

struct Threads {
  std::mutex job;  // one job at a time; also guards the pool
  std::atomic<int> count{0};
  std::unique_ptr<ClaimPool> pool;
  Threads* parents = nullptr;  // in a child: what it must not touch, but still holds
};

// Never destroyed: a program's own static objects may still call the library while they are. A fork()ed child
// has the memory of the pool but not its threads, and perhaps a mutex that nobody will unlock, so it starts
// anew with the same number.
std::atomic<Threads*> current{nullptr};

void start_afresh_in_child() {
  auto* const threads = new Threads;
  threads->parents = current.load();
  threads->count.store(threads->parents->count.load());
  current.store(threads);
}

Threads& state() {
  static const bool started = [] {
    current.store(new Threads);
    pthread_atfork(nullptr, nullptr, start_afresh_in_child);
    return true;
  }();
  (void)started;
  return *current.load();
}

}  // namespace

int threads() {
  std::atomic<int>& count = state().count;
  if (count.load() == 0) count.store(default_threads());
  return count.load();
}

void set_threads(std::int64_t count) {
  if (count < 0 || count > kMostThreads) {
    refuse("threads", "expected 0 (the default) or a number from 1 to ", kMostThreads, ", got ", count);
  }
  Threads& all = state();
  const std::lock_guard lock(all.job);
  all.pool.reset();
  all.count.store(count == 0 ? default_threads() : static_cast<int>(count));
}

int detail::lanes_for(std::int64_t chunks) {
  return static_cast<int>(std::clamp<std::int64_t>(chunks, 1, threads()));
}

void detail::run_chunks(std::int64_t chunks, int lanes, ChunkBody body, void* context) {
  constexpr std::int64_t kMostChunks = 0xffffffff;
  Threads& all = state();
  std::unique_lock lock(all.job, std::defer_lock);
  const bool alone = lanes <= 1 || chunks <= 1 || chunks > kMostChunks || inside_job || !lock.try_lock();
  if (alone) {
    std::atomic<bool> unseen{false};
    WatchedJob job(unseen);
    for (std::int64_t chunk = 0; chunk < chunks && !job.abandoned(); ++chunk) body(context, chunk, 0);
    job.rethrow();
    return;
  }
  if (!all.pool) all.pool = std::make_unique<ClaimPool>(threads());
  WatchedJob job(all.pool->abandoned());
  inside_job = true;
  all.pool->run(chunks, lanes, body, context, job);
  inside_job = false;
  lock.unlock();
  job.rethrow();
}

}  // namespace attend
