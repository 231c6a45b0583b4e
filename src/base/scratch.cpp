#include "base/scratch.h"

#include <new>
#include <utility>

#include "base/large_pages.h"

namespace attend::detail {
namespace {

constexpr std::align_val_t kScratchAlignment{64};
constexpr std::size_t kMostKept = std::size_t{4} << 20;  // larger pieces go back to the system

// Of one thread. While a piece is lent, the place is empty: a call inside a call gets a piece of its own.
struct Kept {
  void* data = nullptr;
  std::size_t bytes = 0;
  ~Kept() { ::operator delete(data, kScratchAlignment); }
};
thread_local Kept kept;

}  // namespace

Scratch::Scratch(std::size_t bytes) {
  if (kept.bytes < bytes) {
    data_ = ::operator new(bytes, kScratchAlignment);
    bytes_ = bytes;
    ask_for_large_pages(data_, bytes);
  } else {
    data_ = std::exchange(kept.data, nullptr);
    bytes_ = std::exchange(kept.bytes, 0);
  }
}

Scratch::~Scratch() {
  if (bytes_ > kMostKept || bytes_ <= kept.bytes) {
    ::operator delete(data_, kScratchAlignment);
    return;
  }
  ::operator delete(kept.data, kScratchAlignment);
  kept.data = data_;
  kept.bytes = bytes_;
}

}  // namespace attend::detail
