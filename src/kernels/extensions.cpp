#include "kernels/extensions.h"

#include "kernels/isa.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace attend::kernels {
namespace {

// A process asks for the registers of tiles, once for all of its threads: they are large, and no signal saves
// them before.
[[maybe_unused]] bool may_use_tiles() noexcept {
#if ATTEND_AMX_TWIN
  return true;
#elif defined(__x86_64__) && defined(__linux__) && defined(SYS_arch_prctl)
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

}  // namespace

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
  constexpr unsigned kTiles = 1u << 22 | 1u << 24 | 1u << 25;  // bf16, the tiles themselves, int8
  add((ATTEND_AMX_TWIN || (d & kTiles) == kTiles) && may_use_tiles(), Extension::amx);
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
