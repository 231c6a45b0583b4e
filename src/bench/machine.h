// What the measurements were made on, and what memory the process holds.
#pragma once

#include <functional>
#include <string>

namespace attend::bench {

std::string cpu_name();       // as the system tells it; "unknown" where it does not
std::string compiler_name();  // "gcc 12.2.0"

// Bytes; 0 where the system does not tell.
double available_memory();  // that can be had without swapping
double resident_memory();   // of this process, now

// The most that this process holds while `work` runs, in bytes above what it holds before. Freed memory that
// the allocator keeps is given back first. Where the system does not let the high-water mark start again, it
// is what the process held at any time: too much rather than too little.
double memory_growth(const std::function<void()>& work);

}  // namespace attend::bench
