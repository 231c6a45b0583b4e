#include "io/bus_errors.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <mutex>

namespace attend::io {
namespace {

// Read by the signal handler, so without locks: a slot is in use while `begin` is not 0, which is written
// last.
struct Slot {
  std::atomic<std::uintptr_t> begin = 0;
  std::atomic<std::uintptr_t> end = 0;
  std::atomic<std::atomic<bool>*> damaged = nullptr;
};
static_assert(std::atomic<std::uintptr_t>::is_always_lock_free);

constinit std::array<Slot, kMaxWatchedMappings> slots;
constinit std::mutex writers;  // of the slots; the handler only reads
struct sigaction before;
std::uintptr_t page_size = 0;

// Somebody else's bus error: as if this handler were not there.
void pass_on(int signal, siginfo_t* information, void* context) {
  if ((before.sa_flags & SA_SIGINFO) != 0) {
    before.sa_sigaction(signal, information, context);
  } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(signal);
  } else {
    ::sigaction(SIGBUS, &before, nullptr);
    ::raise(signal);  // comes when this handler returns, and ends the program
  }
}

void handle_bus_error(int signal, siginfo_t* information, void* context) {
  const int saved = errno;
  const auto address = reinterpret_cast<std::uintptr_t>(information->si_addr);
  const bool by_the_system = information->si_code > 0;  // one that somebody sent has no address
  for (Slot& slot : slots) {
    const std::uintptr_t begin = slot.begin.load(std::memory_order_acquire);
    if (!by_the_system || begin == 0 || address < begin ||
        address >= slot.end.load(std::memory_order_relaxed))
      continue;
    // mmap is a bare system call; on return the access is tried again and finds zeros.
    void* const page = reinterpret_cast<void*>(address / page_size * page_size);
    if (::mmap(page, page_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
      break;
    slot.damaged.load(std::memory_order_relaxed)->store(true, std::memory_order_release);
    errno = saved;
    return;
  }
  errno = saved;
  pass_on(signal, information, context);
}

// Once: a handler that was put in place over ours may call ours, and must not then be called by ours.
void install() {
  if (page_size != 0) return;
  page_size = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  ::sigaction(SIGBUS, nullptr, &before);  // before ours is in place, which reads it
  struct sigaction ours {};
  ours.sa_sigaction = handle_bus_error;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&ours.sa_mask);
  ::sigaction(SIGBUS, &ours, nullptr);
}

}  // namespace

bool watch_mapping(const void* memory, std::size_t bytes, std::atomic<bool>& damaged) {
  const std::lock_guard lock(writers);
  install();
  for (Slot& slot : slots) {
    if (slot.begin.load(std::memory_order_relaxed) != 0) continue;
    const auto begin = reinterpret_cast<std::uintptr_t>(memory);
    slot.end.store((begin + bytes + page_size - 1) / page_size * page_size, std::memory_order_relaxed);
    slot.damaged.store(&damaged, std::memory_order_relaxed);
    slot.begin.store(begin, std::memory_order_release);
    return true;
  }
  return false;
}

void unwatch_mapping(const void* memory) noexcept {
  const std::lock_guard lock(writers);
  for (Slot& slot : slots) {
    if (slot.begin.load(std::memory_order_relaxed) == reinterpret_cast<std::uintptr_t>(memory))
      slot.begin.store(0);
  }
}

}  // namespace attend::io
