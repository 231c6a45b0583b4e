// While this lives the library computes: other Python threads run, nobody changes the settings, and on the
// main thread signals are handled, so that Ctrl-C ends the call.
#pragma once

#include <nanobind/nanobind.h>

#include <attend/interrupt.h>

#include <mutex>
#include <optional>
#include <shared_mutex>

namespace attend_python {

// Signals are handled in the middle of a call, where their handlers may raise; or they wait for its end,
// where half a call would leave an object half changed.
enum class Signals : bool { handled, wait };

class Computing {
 public:
  explicit Computing(Signals signals = Signals::handled);
  ~Computing();
  Computing(const Computing&) = delete;
  Computing& operator=(const Computing&) = delete;

 private:
  nanobind::gil_scoped_release released_;  // first: who waits for a lock must not hold the GIL
  const Computing* const outer_;           // the call in the middle of which a signal handler makes this one
  std::shared_lock<std::shared_mutex> settings_;
  std::optional<attend::Interruptible> interruptible_;
};

// set_threads() and set_isa() must not run at the same time as another call into the library.
class ChangingSettings {
 public:
  ChangingSettings();

 private:
  nanobind::gil_scoped_release released_;
  std::unique_lock<std::shared_mutex> settings_;
};

// That this thread works with an object, whose lock it takes next. A signal handler or a callback runs in the
// middle of such a call: it cannot have the object, and is told so (RuntimeError) where it would wait
// forever.
class Holding {
 public:
  explicit Holding(const void* object);
  ~Holding();
  Holding(const Holding&) = delete;
  Holding& operator=(const Holding&) = delete;
  static bool holds(const void* object) noexcept;

 private:
  const void* const object_;
  const Holding* const outer_;
};

// Once, when the module is loaded.
void find_main_thread();

}  // namespace attend_python
