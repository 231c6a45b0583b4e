#include "support/counting_new.h"

#include <cstdlib>
#include <new>

namespace attend {

std::atomic<std::size_t> bytes_allocated{0};

namespace {

void* counted(std::size_t size, std::size_t alignment) noexcept {
  bytes_allocated += size;
  return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

}  // namespace
}  // namespace attend

void* operator new(std::size_t size) {
  if (void* const memory = attend::counted(size, alignof(std::max_align_t))) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  if (void* const memory = attend::counted(size, static_cast<std::size_t>(alignment))) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return attend::counted(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept { std::free(memory); }
