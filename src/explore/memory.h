// A server that runs for days must return free memory to the system.
#pragma once

namespace attend::explore {

// glibc would otherwise keep up to 64 MB per thread for reuse.
void give_memory_back_early();

// Call after an answer that took many small allocations.
void give_memory_back_now();

}  // namespace attend::explore
