// A server that runs for days must return free memory to the system.
#pragma once

namespace attend::http {

// glibc would otherwise keep up to 64 MB per thread for reuse.
void return_free_memory_early();

// Call after an answer that took many small allocations.
void return_free_memory_now();

}  // namespace attend::http
