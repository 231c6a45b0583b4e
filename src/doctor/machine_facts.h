// What this machine has, what attend will use of it, and why.
#pragma once

#include "doctor/report.h"

namespace attend::doctor {

Section machine_section();

// The hub's cache, and the environment variables that are set. Tokens are never shown.
Section settings_section();

}  // namespace attend::doctor
