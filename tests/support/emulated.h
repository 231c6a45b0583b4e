// Whether an emulator runs this build (cmake/aarch64.cmake), some twenty times slower than a processor would.
#pragma once

namespace attend {

#if defined(ATTEND_EMULATED)
inline constexpr bool kEmulated = true;
#else
inline constexpr bool kEmulated = false;
#endif

}  // namespace attend
