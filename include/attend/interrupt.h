// Ending a long call early, as on Ctrl-C.
#pragma once

#include <cstdint>
#include <functional>

namespace attend {

// While one lives, long calls that its thread makes into the library call `check` from time to time: about
// twenty times a second, from this thread alone, between two tiles of work. check ends the call by throwing,
// and what it throws leaves the call once the other threads are done with the tiles they are at.
//
// What an ended call was to write is unspecified; everything else is as it was before. The library serves the
// next call as if nothing had happened. Calls that change an object by long work (a model that learns) say
// what becomes of it.
//
// Inside another one, it replaces that one while it lives. An empty check: nothing ends the calls.
class Interruptible {
 public:
  explicit Interruptible(std::function<void()> check);
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

 private:
  friend class InterruptionAccess;

  std::function<void()> check_;
  std::int64_t next_ = 0;  // when to ask again, in nanoseconds
  Interruptible* outer_;
};

}  // namespace attend
