// Large pages for large pieces of memory.
#pragma once

#include <cstddef>

#include "base/detail.h"

namespace attend::detail {

// For what was just allocated and not yet touched. A core that streams through 256 MB in pages of 4 KiB
// spends much of its time on address translation (19 instead of 32 GB/s on a virtual machine). Only a hint,
// so nothing fails; pages that the piece does not fill stay as they are.
void ask_for_large_pages(void* memory, std::size_t bytes) noexcept;

}  // namespace attend::detail
