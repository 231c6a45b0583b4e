// The machine that is measured, and how much memory the process uses.
#pragma once

#include <functional>
#include <string>

namespace attend::bench {

std::string cpu_name();       // as the system reports it, or "unknown"
std::string compiler_name();  // "gcc 12.2.0"

// In bytes; 0 where the system does not say.
double available_memory();  // without swapping
double resident_memory();   // of this process, now

// The peak memory of this process while `work` runs, in bytes above what it used before. Freed memory that
// the allocator keeps is returned first. Where the system cannot reset the high-water mark, it is the peak
// since the process started: too much rather than too little.
double memory_growth(const std::function<void()>& work);

}  // namespace attend::bench
