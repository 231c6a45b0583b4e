// What is not public is in attend::detail; inside attend it goes by its plain name.
#pragma once

namespace attend {

namespace detail {}
using namespace detail;

}  // namespace attend
