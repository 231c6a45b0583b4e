#include "base/control_groups.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

namespace attend::detail {
namespace {

namespace fs = std::filesystem;

// A file of one number; infinity where there is none ("max", -1), or no such file.
double number_in(const fs::path& file) {
  std::ifstream stream(file);
  double value = 0;
  return stream >> value && value > 0 ? value : INFINITY;
}

// "150000 100000": microseconds that may be used in each period, over all cores, and the period.
double cores_in(const fs::path& group) {
  std::ifstream stream(group / "cpu.max");
  double quota = 0, period = 0;
  return stream >> quota >> period && quota > 0 && period > 0 ? quota / period : INFINITY;
}

double cores_in_version_1(const fs::path& group) {
  const double quota = number_in(group / "cpu.cfs_quota_us"), period = number_in(group / "cpu.cfs_period_us");
  return std::isinf(quota) || std::isinf(period) ? INFINITY : quota / period;
}

double memory_in(const fs::path& group) { return number_in(group / "memory.max"); }
double memory_in_version_1(const fs::path& group) { return number_in(group / "memory.limit_in_bytes"); }

// A group is limited by its own file and by those of all groups around it.
double least_around(const fs::path& root, const std::string& group, double (*limit)(const fs::path&)) {
  double least = limit(root);
  fs::path place = root;
  for (const fs::path& part : fs::path(group).relative_path()) {
    place /= part;
    least = std::min(least, limit(place));
  }
  return least;
}

// Lines "0::/user.slice" (version 2) and "5:cpu,cpuacct:/docker/ab12" (version 1).
double least_of_groups(const ControlGroupFiles& files, const std::string& kind,
                       double (*limit)(const fs::path&), double (*limit_in_version_1)(const fs::path&)) {
  double least = INFINITY;
  std::ifstream groups(files.groups);
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string kinds = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string group = line.substr(second + 1);
    if (kinds == ",,") least = std::min(least, least_around(files.root, group, limit));
    if (kinds.find("," + kind + ",") != kinds.npos)
      least = std::min(least, least_around(fs::path(files.root) / kind, group, limit_in_version_1));
  }
  return least;
}

}  // namespace

double memory_of_control_groups(const ControlGroupFiles& files) {
  return least_of_groups(files, "memory", memory_in, memory_in_version_1);
}

double cores_of_control_groups(const ControlGroupFiles& files) {
  return least_of_groups(files, "cpu", cores_in, cores_in_version_1);
}

}  // namespace attend::detail
