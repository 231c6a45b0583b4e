// What happens when the file of mapped memory is no longer there.
#pragma once

#include <atomic>
#include <cstddef>

namespace attend::io {

inline constexpr int kMaxWatchedMappings = 1024;

// From now on, reading a page of [memory, memory + bytes) that the file no longer has gives zeros and sets
// `damaged`. Other bus errors go where they went before. False when too many mappings are watched.
bool watch_mapping(const void* memory, std::size_t bytes, std::atomic<bool>& damaged);
void unwatch_mapping(const void* memory) noexcept;

}  // namespace attend::io
