#include "kernels/extensions.h"

#include "kernels/isa.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace attend::kernels {

unsigned extensions_of_this_machine() noexcept {
  unsigned found = 0;
  const auto add = [&](bool there, Extension extension) {
    if (there) found |= static_cast<unsigned>(extension);
  };
#if defined(__x86_64__) || defined(__i386__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return 0;
  const unsigned leaves = a;
  add((c >> 11 & 1) != 0, Extension::avx512_vnni);
  if (leaves >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0) {
    add((a >> 4 & 1) != 0, Extension::avx_vnni);
    add((a >> 5 & 1) != 0, Extension::avx512_bf16);
  }
#elif defined(__aarch64__) && defined(__linux__)
  constexpr unsigned long kDotProducts = 1UL << 20;  // HWCAP_ASIMDDP
  add((getauxval(AT_HWCAP) & kDotProducts) != 0, Extension::neon_dot);
#endif
  return found;
}

}  // namespace attend::kernels
