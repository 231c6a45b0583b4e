#include "base/memory_limit.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/control_groups.h"

namespace attend::detail {
namespace {

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
  return std::min({memory_of_machine(), memory_of_control_groups(), limit_of_process(RLIMIT_AS),
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
