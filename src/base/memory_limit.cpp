#include "base/memory_limit.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace attend::detail {
namespace {

namespace fs = std::filesystem;

// A file of one number; infinity where there is none ("max"), or no such file.
double limit_in(const fs::path& file) {
  std::ifstream stream(file);
  double value = 0;
  return stream >> value && value > 0 ? value : INFINITY;
}

// A group is limited by its own file and by those of all groups around it.
double limit_of_groups(const fs::path& root, const std::string& group, const char* name) {
  double least = limit_in(root / name);
  fs::path place = root;
  for (const fs::path& part : fs::path(group).relative_path()) {
    place /= part;
    least = std::min(least, limit_in(place / name));
  }
  return least;
}

// Lines "0::/user.slice" (version 2) and "5:memory:/docker/ab12" (version 1).
double limit_of_control_groups() {
  double least = INFINITY;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string kinds = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string group = line.substr(second + 1);
    if (kinds == ",,") least = std::min(least, limit_of_groups("/sys/fs/cgroup", group, "memory.max"));
    if (kinds.find(",memory,") != kinds.npos) {
      least = std::min(least, limit_of_groups("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes"));
    }
  }
  return least;
}

// RLIMIT_AS, RLIMIT_DATA: an enum here, an int elsewhere.
double limit_of_process(auto resource) {
  struct rlimit limit {};
  if (::getrlimit(resource, &limit) != 0) return INFINITY;
  return limit.rlim_cur == RLIM_INFINITY ? INFINITY : static_cast<double>(limit.rlim_cur);
}

double memory_of_machine() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), size = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? static_cast<double>(pages) * static_cast<double>(size) : INFINITY;
}

}  // namespace

double memory_limit() {
  return std::min({memory_of_machine(), limit_of_control_groups(), limit_of_process(RLIMIT_AS),
                   limit_of_process(RLIMIT_DATA)});
}

std::string memory_text(double bytes) {
  const char* unit = " bytes";
  int digits = 0;  // after the point, so that there are at most three in all
  for (const char* const next : {" kB", " MB", " GB", " TB", " PB", " EB"}) {
    if (bytes < 999.5) break;
    bytes /= 1000;
    unit = next;
    digits = bytes < 9.995 ? 2 : bytes < 99.95 ? 1 : 0;
  }
  std::ostringstream text;
  text.precision(digits);
  text << std::fixed << bytes;
  std::string number = text.str();
  if (digits > 0) number.erase(number.find_last_not_of('0') + 1);
  if (number.ends_with('.')) number.pop_back();
  return number + unit;
}

}  // namespace attend::detail
