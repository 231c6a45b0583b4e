#include "bench/machine.h"

#include <malloc.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string_view>

namespace attend::bench {
namespace {

// The value after "key:" in a file under /proc; empty when there is none.
std::string line_of(const char* path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t colon = line.find(':');
    const std::size_t start = line.find_first_not_of(" \t", colon + 1);
    if (colon != line.npos && start != line.npos) return line.substr(start);
  }
  return {};
}

double kilobytes_of(const char* path, std::string_view key) {
  double count = 0;
  std::istringstream(line_of(path, key)) >> count;
  return count * 1024;
}

}  // namespace

std::string cpu_name() {
  for (const char* const key : {"model name", "Model", "Hardware"}) {
    if (const std::string name = line_of("/proc/cpuinfo", key); !name.empty()) return name;
  }
  return "unknown";
}

std::string compiler_name() {
#if defined(__clang__)
  return std::string("clang ") + __clang_version__;
#else
  return std::string("gcc ") + __VERSION__;
#endif
}

double available_memory() { return kilobytes_of("/proc/meminfo", "MemAvailable"); }

double resident_memory() { return kilobytes_of("/proc/self/status", "VmRSS"); }

double memory_growth(const std::function<void()>& work) {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << "5";  // resets the high-water mark
  const double before = resident_memory();
  work();
  return std::max(0.0, kilobytes_of("/proc/self/status", "VmHWM") - before);
}

}  // namespace attend::bench
