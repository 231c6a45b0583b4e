#include "compute.h"

#include <pthread.h>

#include <atomic>
#include <stdexcept>

namespace attend_python {

namespace nb = nanobind;

namespace {

std::shared_mutex settings;
std::atomic<unsigned long> main_thread{0};  // the only one that Python handles signals on
thread_local const Computing* innermost_call = nullptr;
thread_local const Holding* innermost_object = nullptr;

void handle_signals() {
  const nb::gil_scoped_acquire held;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace

Computing::Computing(Signals signals) : outer_(innermost_call), settings_(settings, std::defer_lock) {
  if (outer_ == nullptr) settings_.lock();
  if (signals == Signals::handled && PyThread_get_thread_ident() == main_thread) {
    interruptible_.emplace(handle_signals);
  }
  innermost_call = this;
}

Computing::~Computing() { innermost_call = outer_; }

ChangingSettings::ChangingSettings() : settings_(settings, std::defer_lock) {
  if (innermost_call != nullptr) {
    throw std::runtime_error(
        "the number of threads and the instruction set cannot change in the middle of a call, where this "
        "signal "
        "handler runs");
  }
  settings_.lock();
}

Holding::Holding(const void* object) : object_(object), outer_(innermost_object) {
  if (holds(object)) {
    throw std::runtime_error(
        "the object is still at work in the call that this signal handler or callback interrupts");
  }
  innermost_object = this;
}

Holding::~Holding() { innermost_object = outer_; }

bool Holding::holds(const void* object) noexcept {
  for (const Holding* one = innermost_object; one != nullptr; one = one->outer_) {
    if (one->object_ == object) return true;
  }
  return false;
}

void find_main_thread() {
  const nb::object thread = nb::module_::import_("threading").attr("main_thread")();
  main_thread = nb::cast<unsigned long>(thread.attr("ident"));
  // In a child, the thread that called fork() is the main one.
  pthread_atfork(nullptr, nullptr, [] { main_thread = PyThread_get_thread_ident(); });
}

}  // namespace attend_python
