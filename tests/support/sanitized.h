// Whether this build runs under a sanitizer, where the largest sizes would take minutes and find nothing
// more.
#pragma once

namespace attend {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace attend
