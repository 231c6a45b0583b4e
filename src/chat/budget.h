// What a template may cost: it is code of unknown origin. Every step of its evaluation and every byte that it
// makes is paid for, so time and memory are bounded together.
#pragma once

#include <cstddef>
#include <cstdint>

#include "chat/failure.h"

namespace attend::chat {

class Budget {
 public:
  static constexpr std::size_t kStep = 64;  // what evaluating one node costs, in bytes that are copied
  // 500,000 steps or 32 MiB: about 0.1 s. A list costs 32 for each item.
  static constexpr std::size_t kUsual = std::size_t{32} << 20;

  explicit Budget(std::size_t limit = kUsual) : left_(limit) {}

  void pay(std::size_t bytes) {
    if (bytes > left_) fail("the template asks for more work than a conversation needs");
    left_ -= bytes;
  }
  void step() { pay(kStep); }

 private:
  std::size_t left_;
};

// How deep things may be nested: expressions and blocks in the source, values in values, and evaluations, of
// which a macro that calls itself may start many. Small enough for any stack.
inline constexpr int kDeepestSource = 100, kDeepestValue = 60, kDeepestEvaluation = 600;

}  // namespace attend::chat
