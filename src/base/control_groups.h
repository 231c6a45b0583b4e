// What a control group (a container) allows this process.
#pragma once

#include <string>

#include "base/detail.h"

namespace attend::detail {

// Where the system tells; elsewhere in tests.
struct ControlGroupFiles {
  std::string groups = "/proc/self/cgroup", root = "/sys/fs/cgroup";
};

// Infinity where nothing is limited.
double memory_of_control_groups(const ControlGroupFiles& files = {});  // bytes
// The time of this many cores; may be 1.5.
double cores_of_control_groups(const ControlGroupFiles& files = {});

}  // namespace attend::detail
