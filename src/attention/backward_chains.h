// Carries out a backward_schedule.h on the library's threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "attention/backward_schedule.h"
#include "base/interrupt.h"

namespace attend::detail {

// The chains of some strands. A thread stays with a chain, whose keys and gradients are then in its cache,
// until another is so far behind that the threads would not end together.
class BackwardChains {
 public:
  using Strands = std::vector<std::vector<BackwardUnit>>;

  BackwardChains(const Strands& strands, std::size_t first_strand) {
    std::int64_t chains = 0;
    for (std::size_t s = first_strand; s < strands.size(); ++s) {
      for (const BackwardUnit& unit : strands[s]) {
        units_.push_back({&unit, chains, &unit != &strands[s].front()});
        chains += unit.parts;
      }
    }
    chains_ = std::make_unique<Chain[]>(static_cast<std::size_t>(chains));
    open_.store(chains, std::memory_order_relaxed);
    std::int64_t chain = 0;
    for (const Place& place : units_) {
      for (std::int64_t part = 0; part < place.unit->parts; ++part, ++chain) {
        std::int64_t left = 0;
        for (std::int64_t visit = 0; visit < place.unit->visits(); ++visit)
          left += place.unit->sees(part, visit) ? 1 : 0;
        chains_[static_cast<std::size_t>(chain)].left.store(left, std::memory_order_relaxed);
      }
    }
  }

  // One thread's part of the work, until there is none left: visit(BackwardVisit).
  template <class Visit>
  void work(const Visit& visit) {
    constexpr int kSpins = 200;
    Choice own;
    for (int waited = 0; open_.load(std::memory_order_acquire) > 0 && !abandoned();) {
      if (!stays(own) && !choose(own)) {
        if (++waited > kSpins) std::this_thread::yield();
        continue;
      }
      waited = 0;
      go_on(*own.place, own.part, visit);
    }
  }

 private:
  struct alignas(64) Chain {
    std::atomic<std::int64_t> done{0};  // visits
    std::atomic<std::int64_t> left{0};  // of those in which there is something to see
    std::atomic<bool> taken{false};
  };
  struct Place {
    const BackwardUnit* unit;
    std::int64_t first_chain;
    bool follows;  // the unit before it
  };

  // The chain that a thread has, and how much it must have left for the thread to stay with it.
  struct Choice {
    const Place* place = nullptr;
    std::int64_t part = 0, enough = 0;
  };

  Chain& chain_of(const Place& place, std::int64_t part) const noexcept {
    return chains_[static_cast<std::size_t>(place.first_chain + part)];
  }

  bool finished(const Place& place) const noexcept {
    for (std::int64_t part = 0; part < place.unit->parts; ++part) {
      if (chain_of(place, part).done.load(std::memory_order_acquire) < place.unit->visits()) return false;
    }
    return true;
  }

  bool ready(const Place& place, std::int64_t part) const noexcept {
    const std::int64_t next = chain_of(place, part).done.load(std::memory_order_acquire);
    if (next == place.unit->visits()) return false;
    if (part == 0) return !place.follows || next > 0 || finished(*(&place - 1));
    return chain_of(place, part - 1).done.load(std::memory_order_acquire) > next;
  }

  static bool take(Chain& chain) noexcept { return !chain.taken.exchange(true, std::memory_order_acquire); }

  // What others have left only becomes less, so a thread that stays has no need to look at all of them again.
  bool stays(const Choice& own) const noexcept {
    if (own.place == nullptr || !ready(*own.place, own.part)) return false;
    Chain& chain = chain_of(*own.place, own.part);
    return chain.left.load(std::memory_order_relaxed) >= own.enough && take(chain);
  }

  // Takes the chain that has most left of those that can go on and that nobody has.
  bool choose(Choice& own) const noexcept {
    const Place* best = nullptr;
    std::int64_t best_part = 0, most = -1, total = 0, unfinished = 0;
    for (const Place& candidate : units_) {
      for (std::int64_t c = 0; c < candidate.unit->parts; ++c) {
        const Chain& chain = chain_of(candidate, c);
        const std::int64_t left = chain.left.load(std::memory_order_relaxed);
        total += left;
        unfinished += left > 0 ? 1 : 0;
        if (left > most && !chain.taken.load(std::memory_order_relaxed) && ready(candidate, c)) {
          most = left;
          best = &candidate;
          best_part = c;
        }
      }
    }
    if (best == nullptr) return false;
    // Half of what chains have left on average behind the longest of the others.
    const std::int64_t enough = most - (unfinished == 0 ? 0 : total / (2 * unfinished));
    own = {best, best_part, enough};
    return take(chain_of(*best, best_part));
  }

  // The chain's next visit, and those after it in which there is nothing to see. The chain is this thread's.
  template <class Visit>
  void go_on(const Place& place, std::int64_t part, const Visit& visit) {
    const BackwardUnit& unit = *place.unit;
    Chain& chain = chain_of(place, part);
    while (ready(place, part)) {
      const std::int64_t next = chain.done.load(std::memory_order_relaxed);
      const bool sees = unit.sees(part, next);
      visit(BackwardVisit{unit, part, next / unit.visits_of_head, unit.first_tile(next), unit.end_tile(next),
                          next == 0});
      if (sees) chain.left.fetch_sub(1, std::memory_order_relaxed);
      chain.done.store(next + 1, std::memory_order_release);
      if (next + 1 == unit.visits()) open_.fetch_sub(1, std::memory_order_acq_rel);
      if (sees) break;
    }
    chain.taken.store(false, std::memory_order_release);
  }

  std::vector<Place> units_;
  std::unique_ptr<Chain[]> chains_;
  alignas(64) std::atomic<std::int64_t> open_{0};
};

// Calls visit(BackwardVisit, lane) for all of a schedule. While there are several strands for each thread
// they are taken whole, which is quickest; the last are cut into chains, so that the threads end together.
template <class Visit>
void run_backward(const BackwardSchedule& schedule, int lanes, const Visit& visit) {
  constexpr std::int64_t kCutOfALane = 2;
  const auto& strands = schedule.strands();
  const auto count = static_cast<std::int64_t>(strands.size());
  const std::int64_t whole =
      lanes == 1 ? count : std::max<std::int64_t>(count / lanes - kCutOfALane, 0) * lanes;
  BackwardChains chains(strands, static_cast<std::size_t>(whole));
  std::atomic<std::int64_t> next{0};
  parallel_for(lanes, lanes, [&](std::int64_t, int lane) noexcept {
    for (std::int64_t strand = next.fetch_add(1); strand < whole && !abandoned();
         strand = next.fetch_add(1)) {
      for (const BackwardUnit& unit : strands[static_cast<std::size_t>(strand)]) {
        for (std::int64_t part = 0; part < unit.parts; ++part) {
          for (std::int64_t head = 0; head < unit.heads; ++head)
            visit(BackwardVisit{unit, part, head, 0, unit.tiles, head == 0}, lane);
        }
      }
    }
    chains.work([&](const BackwardVisit& now) { visit(now, lane); });
  });
}

}  // namespace attend::detail
