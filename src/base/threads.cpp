// A claim pool: workers take chunks by compare-and-swap, the caller works too, and the join waits only for
// chunks that somebody has claimed. A worker that the system does not schedule therefore costs nothing: the
// others do its share. Spinning is bounded (about 0.1 ms), then workers park, so an idle program burns no
// time.
//
// Every lane has a share of the chunks, and takes from the others' when it has none left. So lanes that come
// in time never write the same cache line, and a job that is done again gives each thread the part of the
// data that its caches may still hold.
#include <attend/threads.h>

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <condition_variable>
#include <cstddef>
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
// What threads write apart from each other: two cache lines, because processors fetch them in pairs.
constexpr std::size_t kApart = 128;

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
  explicit ClaimPool(int lanes) : lanes_of_pool_(static_cast<std::size_t>(lanes)) {
    try {
      for (int lane = 1; lane < lanes; ++lane) workers_.emplace_back([this, lane] { work(lane); });
    } catch (const std::exception&) {
      // The system gives no more threads, or no memory for them: those that exist do the work.
    }
  }

  ~ClaimPool() {
    stopping_.store(true);
    for (Lane& lane : lanes_of_pool_) lane.wake();
    for (auto& worker : workers_) worker.join();
  }

  // Until all chunks are done, or the job is abandoned and those that were begun are. At most as many lanes
  // as the pool has.
  void run(std::int64_t chunks, int lanes, detail::Sharing sharing, const std::int64_t* begins,
           detail::ChunkBody body, void* context, WatchedJob& job) {
    abandoned_.store(false, std::memory_order_relaxed);
    lanes_.store(lanes, std::memory_order_relaxed);
    sharing_.store(sharing, std::memory_order_relaxed);
    begins_.store(begins, std::memory_order_relaxed);
    body_.store(body, std::memory_order_relaxed);
    context_.store(context, std::memory_order_relaxed);
    count_.store(chunks, std::memory_order_relaxed);
    done_.store(0, std::memory_order_relaxed);
    const std::uint64_t generation = ++generation_ << 32;
    for (int lane = 0; lane < lanes; ++lane)
      ticket_of(lane).store(generation | chunks_of(lane).count, std::memory_order_release);
    wake_next(0);
    std::int64_t own = 0;
    while (!job.abandoned() && run_next_of(0, 0)) ++own;
    count_done(own);
    while (!job.abandoned() && run_another_lanes(0)) count_done(1);
    for (int spin = 0; done_.load(std::memory_order_acquire) != chunks; ++spin) {
      if (job.abandoned()) claim_the_rest();
      spin < kSpins ? relax() : std::this_thread::yield();
    }
  }

  std::atomic<bool>& abandoned() noexcept { return abandoned_; }

 private:
  static constexpr std::uint64_t kLeft = 0xffffffffu;

  struct alignas(kApart) Lane {
    // The job's generation, and how many chunks of the lane's share nobody has claimed yet.
    std::atomic<std::uint64_t> ticket{0};
    alignas(kApart) std::atomic<bool> parked{false};
    std::mutex bed;
    std::condition_variable call;

    void wake() {
      { const std::lock_guard lock(bed); }  // a worker between its last look and its wait holds this
      call.notify_one();
    }
  };

  Lane& lane_at(int lane) { return lanes_of_pool_[static_cast<std::size_t>(lane)]; }
  std::atomic<std::uint64_t>& ticket_of(int lane) { return lane_at(lane).ticket; }

  // The share of a lane: `count` chunks from `first` on, `step` apart.
  struct Chunks {
    std::int64_t first, step;
    std::uint64_t count;
  };
  Chunks chunks_of(int lane) const {
    const std::int64_t all = count_.load(std::memory_order_relaxed);
    const int lanes = lanes_.load(std::memory_order_relaxed);
    const detail::Sharing sharing = sharing_.load(std::memory_order_relaxed);
    if (sharing == detail::Sharing::turns)
      return {lane, lanes, static_cast<std::uint64_t>((all - lane + lanes - 1) / lanes)};
    if (sharing == detail::Sharing::given) {
      const std::int64_t* const begin = begins_.load(std::memory_order_relaxed) + lane;
      return {begin[0], 1, static_cast<std::uint64_t>(begin[1] - begin[0])};
    }
    const std::int64_t first = all * lane / lanes;
    return {first, 1, static_cast<std::uint64_t>(all * (lane + 1) / lanes - first)};
  }

  // Lanes wake each other, two each, because a call to the system for each of them takes longer than many a
  // job; and a job wakes only those that it has chunks for. One that parks just now may sleep through the
  // job: the others do its share.
  void wake_next(int lane) {
    if (parked_.load(std::memory_order_acquire) == 0) return;
    const int end = std::min(2 * lane + 3, lanes_.load(std::memory_order_relaxed));
    for (int next = 2 * lane + 1; next < end; ++next) {
      if (lane_at(next).parked.load(std::memory_order_acquire)) lane_at(next).wake();
    }
  }

  // Chunks that nobody has begun count as done.
  void claim_the_rest() {
    for (int lane = 0; lane < lanes_.load(std::memory_order_relaxed); ++lane) {
      std::uint64_t ticket = ticket_of(lane).load(std::memory_order_acquire);
      while ((ticket & kLeft) != 0) {
        if (!ticket_of(lane).compare_exchange_weak(ticket, ticket & ~kLeft)) continue;
        count_done(static_cast<std::int64_t>(ticket & kLeft));
        break;
      }
    }
  }

  void count_done(std::int64_t chunks) { done_.fetch_add(chunks, std::memory_order_release); }

  // The next chunk of a lane's share, which the caller then counts as done. A successful exchange proves that
  // the job was still the current one, and keeps it so until then: only after it are the job's fields read.
  bool run_next_of(int owner, int lane) {
    std::atomic<std::uint64_t>& place = ticket_of(owner);
    std::uint64_t ticket = place.load(std::memory_order_acquire);
    while ((ticket & kLeft) != 0 && lane < lanes_.load(std::memory_order_relaxed)) {
      if (!place.compare_exchange_weak(ticket, ticket - 1, std::memory_order_acq_rel)) continue;
      const Chunks chunks = chunks_of(owner);
      const auto taken = static_cast<std::int64_t>(chunks.count - (ticket & kLeft));
      const std::int64_t chunk = chunks.first + taken * chunks.step;
      body_.load(std::memory_order_relaxed)(context_.load(std::memory_order_relaxed), chunk, lane);
      return true;
    }
    return false;
  }

  bool run_another_lanes(int lane) {
    const int lanes = lanes_.load(std::memory_order_relaxed);
    for (int owner = lane + 1; owner < lanes; ++owner) {
      if (run_next_of(owner, lane)) return true;
    }
    for (int owner = 0; owner < std::min(lane, lanes); ++owner) {
      if (run_next_of(owner, lane)) return true;
    }
    return false;
  }

  bool has_work(int lane) {
    return (ticket_of(lane).load(std::memory_order_acquire) & kLeft) != 0 &&
           lane < lanes_.load(std::memory_order_relaxed);
  }

  void work(int lane) {
    inside_job = true;
    look_at(abandoned_);
    for (;;) {
      int spin = 0;
      while (spin < kSpins && !stopping_.load(std::memory_order_relaxed)) {
        if (!has_work(lane)) {
          relax();
          ++spin;
          continue;
        }
        wake_next(lane);
        std::int64_t own = 0;
        while (run_next_of(lane, lane)) ++own;
        if (own > 0) count_done(own);
        while (run_another_lanes(lane)) count_done(1);
        spin = 0;
      }
      Lane& own_lane = lane_at(lane);
      std::unique_lock lock(own_lane.bed);
      own_lane.parked.store(true, std::memory_order_relaxed);
      parked_.fetch_add(1, std::memory_order_acq_rel);
      own_lane.call.wait(lock, [this, lane] { return stopping_.load() || has_work(lane); });
      own_lane.parked.store(false, std::memory_order_relaxed);
      parked_.fetch_sub(1, std::memory_order_acq_rel);
      if (stopping_.load()) return;
    }
  }

  // The job: written once, read by all.
  alignas(kApart) std::atomic<detail::ChunkBody> body_{nullptr};
  std::atomic<void*> context_{nullptr};
  std::atomic<std::int64_t> count_{0};
  std::atomic<int> lanes_{0};
  std::atomic<detail::Sharing> sharing_{detail::Sharing::turns};
  std::atomic<const std::int64_t*> begins_{nullptr};
  std::atomic<bool> abandoned_{false};
  std::uint64_t generation_ = 0;

  alignas(kApart) std::atomic<std::int64_t> done_{0};

  alignas(kApart) std::atomic<int> parked_{0};
  std::atomic<bool> stopping_{false};
  std::vector<Lane> lanes_of_pool_;
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

void detail::run_chunks(std::int64_t chunks, int lanes, Sharing sharing, const std::int64_t* begins,
                        ChunkBody body, void* context) {
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
  int used = std::min(lanes, threads());
  if (used < lanes) sharing = sharing == Sharing::given ? Sharing::neighbours : sharing;  // given to too many
  if (sharing != Sharing::given) used = static_cast<int>(std::min<std::int64_t>(used, chunks));
  all.pool->run(chunks, used, sharing, begins, body, context, job);
  inside_job = false;
  lock.unlock();
  job.rethrow();
}

}  // namespace attend
