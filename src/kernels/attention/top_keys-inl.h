// The keys of largest score in each row, queries in lanes. A score is compared with the worst that is kept,
// which it seldom beats. Which rows have a lane where it does is written down without a branch: a branch
// would be mispredicted at each of them, which costs more than putting the score in its place.
#if defined(ATTEND_KERNELS_ATTENTION_TOP_KEYS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_ATTENTION_TOP_KEYS_INL_H_
#undef ATTEND_KERNELS_ATTENTION_TOP_KEYS_INL_H_
#else
#define ATTEND_KERNELS_ATTENTION_TOP_KEYS_INL_H_
#endif

#include <algorithm>
#include <limits>

#include "kernels/attention/head.h"
#include "kernels/attention/score_tile-inl.h"
#include "kernels/attention/scratch_pieces.h"
#include "kernels/attention/top_candidates.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

// Up to here a list in order is kept in lanes; beyond, moving it costs more than gathering candidates.
constexpr std::int64_t kLongestTopList = 32;

// Few: a list for each lane, best first. Scores that enter move what is worse one place down, for all lanes
// of a vector at once.
template <int kV>
struct TopList {
  static constexpr int kInRegisters = 8;  // a list of these is held in registers while a tile enters

  const std::int64_t keep;
  const std::int64_t width = kV * lanes();
  float* const scores;       // (keep, width)
  std::int32_t* const keys;  // the same

  TopList(std::int64_t k, ScratchPieces& scratch)
      : keep(kept_for(k)),
        scores(scratch.take<float>(keep * width)),
        keys(scratch.take<std::int32_t>(keep * width)) {}
  static std::int64_t scratch_size(std::int64_t k) {
    return 2 * ScratchPieces::floats_for<float>(kept_for(k) * kV * lanes());
  }
  static std::int64_t kept_for(std::int64_t k) { return std::max<std::int64_t>(k, kInRegisters); }

  // A lane without a query holds what nothing beats.
  HWY_ATTR void begin(std::int64_t count) {
    for (std::int64_t at = 0; at < keep * width; ++at) {
      scores[at] = at % width < count ? kMinusInfinity<float> : std::numeric_limits<float>::infinity();
      keys[at] = -1;
    }
  }

  // s: the scores of keys [first_key, first_key + n), rows of `width`.
  HWY_ATTR void look(const float* s, std::int64_t n, std::int64_t first_key) {
    const D d;
    std::int32_t rows[kKeyTile];
    for (std::int64_t lane = 0; lane < width; lane += lanes()) {
      const V worst = hn::Load(d, scores + (keep - 1) * width + lane);
      std::int64_t count = 0;
      for (std::int64_t j = 0; j < n; ++j) {
        rows[count] = static_cast<std::int32_t>(j);
        count += hn::AllFalse(d, hn::Gt(hn::Load(d, s + j * width + lane), worst)) ? 0 : 1;
      }
      if (keep == kInRegisters) {
        enter_few(s + lane, rows, count, first_key, lane);
      } else {
        for (std::int64_t i = 0; i < count; ++i) {
          enter(hn::Load(d, s + rows[i] * width + lane), static_cast<std::int32_t>(first_key + rows[i]),
                lane);
        }
      }
    }
  }

  HWY_ATTR HWY_NOINLINE void enter_few(const float* s, const std::int32_t* rows, std::int64_t count,
                                       std::int64_t first_key, std::int64_t lane) {
    const D d;
    const DI di;
    Slot best[kInRegisters];
    KeySlot best_key[kInRegisters];
#pragma GCC unroll 8
    for (int i = 0; i < kInRegisters; ++i) {
      best[i] = hn::Load(d, scores + i * width + lane);
      best_key[i] = hn::Load(di, keys + i * width + lane);
    }
    for (std::int64_t row = 0; row < count; ++row) {
      const V x = hn::Load(d, s + rows[row] * width);
      const auto key = hn::Set(di, static_cast<std::int32_t>(first_key + rows[row]));
      // From the worst up: a place takes its upper neighbour where the score goes further up, the score where
      // it stops here. A score that equals a kept one stops below it.
      const V worst = best[kInRegisters - 1];
      auto arrives = hn::Gt(x, worst);
#pragma GCC unroll 8
      for (int i = kInRegisters - 1; i > 0; --i) {
        const V above = best[i - 1];
        const auto passes = hn::Gt(x, above);
        best[i] = hn::IfThenElse(passes, above, hn::IfThenElse(arrives, x, best[i]));
        best_key[i] = hn::IfThenElse(hn::RebindMask(di, passes), best_key[i - 1],
                                     hn::IfThenElse(hn::RebindMask(di, arrives), key, best_key[i]));
        arrives = passes;
      }
      best[0] = hn::IfThenElse(arrives, x, best[0]);
      best_key[0] = hn::IfThenElse(hn::RebindMask(di, arrives), key, best_key[0]);
    }
#pragma GCC unroll 8
    for (int i = 0; i < kInRegisters; ++i) {
      hn::Store(best[i], d, scores + i * width + lane);
      hn::Store(best_key[i], di, keys + i * width + lane);
    }
  }

  // The same for a longer list, which stays in memory and is left where no lane goes further up.
  HWY_ATTR void enter(V x, std::int32_t new_key, std::int64_t lane) {
    const D d;
    const DI di;
    const auto key = hn::Set(di, new_key);
    V here = hn::Load(d, scores + (keep - 1) * width + lane);
    auto here_key = hn::Load(di, keys + (keep - 1) * width + lane);
    auto arrives = hn::Gt(x, here);
    for (std::int64_t i = keep - 1; i > 0 && !hn::AllFalse(d, arrives); --i) {
      const V above = hn::Load(d, scores + (i - 1) * width + lane);
      const auto above_key = hn::Load(di, keys + (i - 1) * width + lane);
      const auto passes = hn::Gt(x, above);
      const V settled = hn::IfThenElse(arrives, x, here);
      const auto settled_key = hn::IfThenElse(hn::RebindMask(di, arrives), key, here_key);
      hn::Store(hn::IfThenElse(passes, above, settled), d, scores + i * width + lane);
      hn::Store(hn::IfThenElse(hn::RebindMask(di, passes), above_key, settled_key), di,
                keys + i * width + lane);
      arrives = passes;
      here = above;
      here_key = above_key;
    }
    // Where a lane still arrives, `here` is the first place.
    if (hn::AllFalse(d, arrives)) return;
    hn::Store(hn::IfThenElse(arrives, x, here), d, scores + lane);
    hn::Store(hn::IfThenElse(hn::RebindMask(di, arrives), key, here_key), di, keys + lane);
  }

  // The first `wanted` keys and scores of one lane, best first; -1 and -inf where there are no more.
  HWY_ATTR void take(std::int64_t lane, std::int64_t wanted, std::int64_t* top_keys, float* top_scores) {
    for (std::int64_t i = 0; i < wanted; ++i) {
      top_keys[i] = keys[i * width + lane];
      top_scores[i] = scores[i * width + lane];
    }
  }
};

// Many: each lane gathers what beats its worst, and is thinned out when its room is full.
template <int kV>
struct TopGathered {
  static constexpr std::int64_t kRoom = 3;
  const std::int64_t keep;
  const std::int64_t width = kV * lanes();
  const std::int64_t room = kRoom * keep;
  Candidate* const candidates;  // (width, room)
  std::int64_t* const counts;   // (width)
  float* const worst;           // (width)

  TopGathered(std::int64_t k, ScratchPieces& scratch)
      : keep(k),
        candidates(scratch.take<Candidate>(width * room)),
        counts(scratch.take<std::int64_t>(width)),
        worst(scratch.take<float>(width)) {}
  static std::int64_t scratch_size(std::int64_t k) {
    const std::int64_t width = kV * lanes();
    return ScratchPieces::floats_for<Candidate>(width * kRoom * k) +
           ScratchPieces::floats_for<std::int64_t>(width) + ScratchPieces::floats_for<float>(width);
  }

  HWY_ATTR void begin(std::int64_t count) {
    for (std::int64_t i = 0; i < width; ++i) {
      counts[i] = 0;
      worst[i] = i < count ? kMinusInfinity<float> : std::numeric_limits<float>::infinity();
    }
  }

  HWY_ATTR void look(const float* s, std::int64_t n, std::int64_t first_key) {
    const D d;
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t lane = 0; lane < width; lane += lanes()) {
        const float* const row = s + j * width + lane;
        if (hn::AllFalse(d, hn::Gt(hn::Load(d, row), hn::Load(d, worst + lane)))) continue;
        add(row, static_cast<std::int32_t>(first_key + j), lane);
      }
    }
  }

  // The lanes of one vector from `first` on, each written in the next free place, and kept where it is
  // better.
  HWY_ATTR void add(const float* row, std::int32_t key, std::int64_t first) {
    bool any_full = false;
    for (std::int64_t lane = first; lane < first + lanes(); ++lane) {
      const float score = row[lane - first];
      candidates[lane * room + counts[lane]] = candidate(score, key);
      counts[lane] += score > worst[lane] ? 1 : 0;
      any_full |= counts[lane] == room;
    }
    for (std::int64_t lane = first; any_full && lane < first + lanes(); ++lane) {
      if (counts[lane] == room) thin_out(lane);
    }
  }

  HWY_ATTR void thin_out(std::int64_t lane) {
    worst[lane] = keep_best(candidates + lane * room, counts[lane], keep);
    counts[lane] = keep;
  }

  HWY_ATTR void take(std::int64_t lane, std::int64_t wanted, std::int64_t* top_keys, float* top_scores) {
    if (counts[lane] > keep) thin_out(lane);
    Candidate* const mine = candidates + lane * room;
    sort_best(mine, counts[lane]);
    for (std::int64_t i = 0; i < wanted; ++i) {
      const bool there = i < counts[lane];
      top_keys[i] = there ? key_of(mine[i]) : -1;
      top_scores[i] = there ? score_of(mine[i]) : kMinusInfinity<float>;
    }
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#endif  // ATTEND_KERNELS_ATTENTION_TOP_KEYS_INL_H_
