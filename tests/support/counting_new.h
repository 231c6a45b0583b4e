// A program that links this counts what it allocates: operator new is replaced.
#pragma once

#include <atomic>
#include <cstddef>

namespace attend {

extern std::atomic<std::size_t> bytes_allocated;  // in all, since somebody set it to 0

}  // namespace attend
