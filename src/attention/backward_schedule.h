// Who adds which gradient when, in an order that no number of threads can change.
//
// A unit is one key head of one sequence with the query heads that share it. Its keys are cut into parts and
// its tiles of queries into as many groups. In phase p, part c meets group (c + p) mod parts: no two visits
// of a phase share a key or a query, so they may run side by side, and every key and every query is visited
// in the same order always. Gradients are added where they belong; there are no partial ones.
//
// Units that add to the same elements of a bias gradient form a strand and follow one another.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "attention/layout.h"
#include "base/parallel.h"
#include "kernels/attention/head.h"

namespace attend::detail {

struct BackwardUnit {
  std::int64_t sequence = 0, key_head = 0;
  std::int64_t key_count = 0, tiles = 0;
  std::int64_t parts = 0, part_keys = 0;

  kernels::KeyRange keys(std::int64_t part) const noexcept {
    return {std::min(part * part_keys, key_count), std::min((part + 1) * part_keys, key_count)};
  }
  std::int64_t first_tile(std::int64_t group) const noexcept { return tiles * group / parts; }
};

struct BackwardVisit {
  const BackwardUnit& unit;
  std::int64_t part, phase;

  std::int64_t group() const noexcept { return (part + phase) % unit.parts; }
};

class BackwardSchedule {
 public:
  // However long a sequence is: each phase may end with a join.
  static constexpr std::int64_t kMostParts = 16;

  // strand_of(sequence, key_head): units with the same number follow one another; numbers are below strands.
  template <class StrandOf>
  BackwardSchedule(const Layout& layout, std::int64_t tile_queries, std::int64_t block_keys,
                   std::int64_t strands, StrandOf strand_of)
      : strands_(static_cast<std::size_t>(strands)) {
    for (std::int64_t s = 0; s < static_cast<std::int64_t>(layout.sequences.size()); ++s) {
      for (std::int64_t h = 0; h < layout.key_heads; ++h) {
        const SequenceLayout& at = layout.sequences[static_cast<std::size_t>(s)];
        const std::int64_t part_keys = keys_of_a_part(at.key_count, block_keys);
        const std::int64_t tiles = (at.queries + tile_queries - 1) / tile_queries;
        strands_[static_cast<std::size_t>(strand_of(s, h))].push_back(
            {s, h, at.key_count, tiles * (layout.query_heads / layout.key_heads),
             std::max<std::int64_t>((at.key_count + part_keys - 1) / part_keys, 1), part_keys});
      }
    }
  }

  // The most lanes that have something to do side by side.
  std::int64_t width() const noexcept {
    std::int64_t parts = 0;
    for (const auto& strand : strands_) {
      for (const BackwardUnit& unit : strand) parts = std::max(parts, unit.parts);
    }
    return parts * static_cast<std::int64_t>(strands_.size());
  }

  // Calls prepare(unit) for all of them, and then, for all of its parts and phases, visit(BackwardVisit,
  // lane).
  template <class Prepare, class Visit>
  void run(int lanes, Prepare prepare, Visit visit) const {
    const auto strands = static_cast<std::int64_t>(strands_.size());
    if (lanes == 1 || strands >= 4 * lanes) {
      parallel_for(strands, lanes, [&](std::int64_t strand, int lane) noexcept {
        for (const BackwardUnit& unit : strands_[static_cast<std::size_t>(strand)]) {
          prepare(unit);  // what it touches is still in the cache when the visits come
          for (std::int64_t phase = 0; phase < unit.parts; ++phase) {
            for (std::int64_t part = 0; part < unit.parts; ++part)
              visit(BackwardVisit{unit, part, phase}, lane);
          }
        }
      });
      return;
    }
    // Few strands: the visits of a phase, side by side.
    parallel_for(strands, lanes, [&](std::int64_t strand, int) noexcept {
      for (const BackwardUnit& unit : strands_[static_cast<std::size_t>(strand)]) prepare(unit);
    });
    for (std::size_t step = 0;; ++step) {
      std::int64_t parts = 0;
      for (const auto& strand : strands_) {
        if (step < strand.size()) parts = std::max(parts, strand[step].parts);
      }
      if (parts == 0) return;
      for (std::int64_t phase = 0; phase < parts; ++phase) {
        parallel_for(strands * parts, lanes, [&](std::int64_t index, int lane) noexcept {
          const auto& strand = strands_[static_cast<std::size_t>(index / parts)];
          if (step >= strand.size()) return;
          const BackwardVisit now{strand[step], index % parts, phase};
          if (now.part < now.unit.parts && phase < now.unit.parts) visit(now, lane);
        });
      }
    }
  }

 private:
  // Half a block where that gives short sequences something to share, whole ones where it is work enough.
  static std::int64_t keys_of_a_part(std::int64_t key_count, std::int64_t block_keys) {
    if (key_count < 2 * block_keys) return block_keys / 2;
    const std::int64_t blocks = (key_count + block_keys - 1) / block_keys;
    return (blocks + kMostParts - 1) / kMostParts * block_keys;
  }

  std::vector<std::vector<BackwardUnit>> strands_;
};

}  // namespace attend::detail
