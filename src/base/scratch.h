// Memory that a call works in and forgets: 64-byte aligned, not cleared. A thread keeps its last pieces for
// the next call, because fresh memory costs a small call more than its arithmetic, and a large one a tenth of
// its time (page faults, and clearing).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/detail.h"

namespace attend::detail {

class Scratch {
 public:
  // Throws std::bad_alloc when there is not enough memory.
  template <class T>
  static Scratch of(std::int64_t count) {
    return Scratch(static_cast<std::size_t>(count) * sizeof(T));
  }
  explicit Scratch(std::size_t bytes);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  template <class T>
  T* as() const noexcept {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// A piece of scratch for each lane of a parallel loop, each of them aligned.
template <class T>
class LaneScratch {
 public:
  LaneScratch(int lanes, std::int64_t size)
      : size_((size + kLine - 1) / kLine * kLine), scratch_(Scratch::of<T>(lanes * size_)) {}

  T* of(int lane) const noexcept { return scratch_.as<T>() + lane * size_; }

 private:
  static constexpr std::int64_t kLine = 64 / sizeof(T);
  std::int64_t size_;
  Scratch scratch_;
};

}  // namespace attend::detail
