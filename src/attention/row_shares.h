// Cuts the queries of a call into blocks, and gives each thread its share of them: neighbours, so that a
// thread fetches the keys and values of as few heads as there can be, and as much work as the others have.
// Cores are not all as fast as each other, so the last blocks of a share are small: those who are done
// early take them from those who are late.
//
// Shares are counted in groups of queries that a kernel works on side by side, a vector of them, and weighed
// by the keys that these see. So the cut depends on the threads; a result does not, because a row's
// arithmetic is the same in any block (kernels/attention).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "attention/layout.h"
#include "base/parallel.h"
#include "kernels/attention/head.h"

namespace attend::detail {

// What a kernel's tiles are made of, and how much work makes waking another thread worth its while.
struct RowGrain {
  std::int64_t group;     // queries that are worked on side by side
  std::int64_t tile;      // groups of a tile, at most
  std::int64_t together;  // tiles of a block, at most: as many as leave a share enough blocks
  std::int64_t own_keys;  // what a tile takes besides its keys, in keys: packing queries, writing results
  std::int64_t work;      // multiplications that a thread should have, at least
};

class RowShares {
 public:
  RowShares(const Layout& layout, bool causal, const RowGrain& grain)
      : layout_(layout), causal_(causal), grain_(grain) {
    std::int64_t total = 0, groups = 0;
    std::vector<std::int64_t> upto;  // of a head: the work of the groups before each
    for (const SequenceLayout& sequence : layout.sequences) {
      weigh(sequence, upto);
      total += upto.back() * layout.query_heads;
      groups += (static_cast<std::int64_t>(upto.size()) - 1) * layout.query_heads;
    }
    const std::int64_t each = std::max<std::int64_t>(grain.group * (layout.d + layout.dv), 1);
    const int lanes = lanes_for(std::min(groups, total / std::max<std::int64_t>(grain.work / each, 1)));
    constexpr std::int64_t kBlocksOfAShare = 16;
    together_ = std::clamp<std::int64_t>(groups / lanes / (kBlocksOfAShare * grain.tile), 1, grain.together);
    most_small_ = lanes == 1 ? 0 : std::min(whole_block(), groups / lanes / 4);
    cut(total, lanes, upto);
  }

  struct Block {
    std::int64_t sequence, head, first, last;
    bool opens;  // the first of its head in a share: what it reads is not in the thread's cache yet
  };

  std::int64_t count() const noexcept { return begins_.back(); }
  int lanes() const noexcept { return static_cast<int>(begins_.size()) - 1; }
  // Where each thread's share begins, and the end.
  std::span<const std::int64_t> begins() const noexcept { return begins_; }

  Block operator[](std::int64_t index) const noexcept {
    const auto next = std::upper_bound(pieces_.begin(), pieces_.end(), index,
                                       [](std::int64_t at, const Piece& piece) { return at < piece.begin; });
    const Piece& piece = *(next - 1);
    const std::int64_t turn = index - piece.begin, groups = piece.last - piece.first;
    const std::int64_t large = groups - piece.small, blocks = blocks_of(large);
    std::int64_t from = 0, to = 0;
    if (turn >= blocks) {
      from = large + (turn - blocks) * small_block();
      to = std::min(from + small_block(), groups);
    } else if (together_ > 1) {  // whole tiles
      from = turn * whole_block();
      to = std::min(from + whole_block(), large);
    } else {  // about equal: two tiles of two groups take less than one of three and one of one
      from = large * turn / blocks;
      to = large * (turn + 1) / blocks;
    }
    // With a causal mask the last see the most keys, and threads end together when they begin with those.
    const std::int64_t first = causal_ ? piece.last - to : piece.first + from;
    const std::int64_t queries = layout_.sequences[static_cast<std::size_t>(piece.sequence)].queries;
    return {piece.sequence, piece.head, first * grain_.group,
            std::min((first + to - from) * grain_.group, queries), turn == 0};
  }

 private:
  // Groups of one head that belong to one share.
  struct Piece {
    std::int64_t begin, sequence, head, first, last;
    std::int64_t small;  // groups at its end that are taken in small blocks
  };

  std::int64_t whole_block() const noexcept { return grain_.tile * together_; }
  std::int64_t small_block() const noexcept { return together_ > 1 ? grain_.tile : 1; }
  std::int64_t blocks_of(std::int64_t groups) const noexcept {
    return (groups + whole_block() - 1) / whole_block();
  }

  void weigh(const SequenceLayout& at, std::vector<std::int64_t>& upto) const {
    const kernels::Visibility visible{at.key_count, at.query_offset, causal_, layout_.window.left,
                                      layout_.window.right};
    upto.assign(1, 0);
    for (std::int64_t first = 0; first < at.queries; first += grain_.group) {
      const std::int64_t last = std::min(first + grain_.group, at.queries) - 1;
      const std::int64_t keys = visible.keys_of(last).end - visible.keys_of(first).begin;
      upto.push_back(upto.back() + std::max<std::int64_t>(keys, 0) + grain_.own_keys);
    }
  }

  void cut(std::int64_t total, int lanes, std::vector<std::int64_t>& upto) {
    begins_.assign(1, 0);
    std::int64_t done = 0, blocks = 0;  // work and blocks of the pieces so far
    const auto share_end = [&] {
      const double shares = static_cast<double>(begins_.size()) / lanes;
      return static_cast<std::int64_t>(static_cast<double>(total) * shares);
    };
    const auto sequences = static_cast<std::int64_t>(layout_.sequences.size());
    for (std::int64_t s = 0; s < sequences; ++s) {
      weigh(layout_.sequences[static_cast<std::size_t>(s)], upto);
      const auto groups = static_cast<std::int64_t>(upto.size()) - 1;
      for (std::int64_t h = 0; h < layout_.query_heads; ++h) {
        std::int64_t from = 0;
        const auto add_piece = [&](std::int64_t end, bool ends_share) {
          if (from == end) return;
          const std::int64_t small = ends_share ? std::min(end - from, most_small_) : 0;
          pieces_.push_back({blocks, s, h, from, end, small});
          blocks += blocks_of(end - from - small) + (small + small_block() - 1) / small_block();
          from = end;
        };
        while (this->lanes() + 1 < lanes && share_end() <= done + upto.back()) {
          add_piece(std::max(from, nearest(upto, share_end() - done)), true);
          begins_.push_back(blocks);
        }
        add_piece(groups, s + 1 == sequences && h + 1 == layout_.query_heads);
        done += upto.back();
      }
    }
    begins_.resize(static_cast<std::size_t>(lanes) + 1, blocks);
    begins_.back() = blocks;
  }

  // The group before which the work done is nearest to this.
  static std::int64_t nearest(const std::vector<std::int64_t>& upto, std::int64_t work) {
    const auto after = std::lower_bound(upto.begin(), upto.end(), work);
    const bool before = after != upto.begin() && (after == upto.end() || work - *(after - 1) < *after - work);
    return after - upto.begin() - (before ? 1 : 0);
  }

  const Layout& layout_;
  const bool causal_;
  const RowGrain grain_;
  std::int64_t together_ = 1;    // tiles of a block
  std::int64_t most_small_ = 0;  // groups of a share that are taken in small blocks
  std::vector<Piece> pieces_;
  std::vector<std::int64_t> begins_;
};

}  // namespace attend::detail
