// What may be spent on one text. A tokenizer.json says what is done with a text, and must not be able to make
// gigabytes or hours of a few letters.
#pragma once

#include <chrono>
#include <cstddef>
#include <ctime>
#include <string_view>

#include "base/error.h"

namespace attend::text {

class Allowance {
 public:
  // For a text of this many bytes: a hundred times what ordinary files take for it.
  explicit Allowance(std::size_t given)
      : Allowance(given, std::chrono::seconds(1) +
                             std::chrono::nanoseconds(1000) * static_cast<std::int64_t>(given)) {}

  // With another limit of time, which is that of the clock and then once more that of the processor.
  Allowance(std::size_t given, std::chrono::nanoseconds limit) : given_(given), limit_(limit) {
    if (given < (kMost - kFixed) / kFactor) most_ = kFixed + kFactor * given;
  }

  // The bytes that a step may make of what it is given.
  std::size_t room() const { return most_ - kept_; }

  // Asked before they are made, with the name of the step.
  void require_room(std::size_t bytes, std::string_view step) const {
    if (bytes <= room()) return;
    refuse("tokenizer", step, " would make ", kept_ + bytes, " bytes of a text of ", given_,
           ", more than the ", most_, " that are allowed");
  }

  // Bytes that are made and put aside, where a text is rewritten in stretches.
  void put_aside(std::size_t bytes) { kept_ = bytes; }

  // Asked now and then, after a few thousand bytes at most. Costs a look at the clock.
  void require_time(std::string_view step) {
    const auto now = std::chrono::steady_clock::now();
    if (now - start_ <= limit_) return;
    // A thread may have waited. What counts is the processor's time, which takes longer to ask for: from here
    // on.
    if (used_at_first_ < 0) used_at_first_ = processor_seconds();
    if (processor_seconds() - used_at_first_ > std::chrono::duration<double>(limit_).count())
      refuse("tokenizer", step, " takes too many steps on this text of ", given_, " bytes");
  }

 private:
  // The most that real ones make: NFD of Korean three times the bytes, and byte-level characters twice that.
  // Compatible forms of single characters are longer, up to eleven times: a text of nothing else may
  // have 350 kB.
  static constexpr std::size_t kFactor = 8, kFixed = std::size_t{1} << 20;
  static constexpr std::size_t kMost = UINT32_MAX;  // places in a text are 32-bit numbers

  static double processor_seconds() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }

  std::size_t given_, most_ = kMost, kept_ = 0;
  std::chrono::nanoseconds limit_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  double used_at_first_ = -1;
};

}  // namespace attend::text
