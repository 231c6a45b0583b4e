#include <attend/version.h>

namespace attend {

std::string_view version() noexcept { return ATTEND_VERSION; }

}  // namespace attend
