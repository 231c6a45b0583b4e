// `attend serve`: the routes, and who may ask for them.
#pragma once

#include <vector>

#include "serve/models.h"
#include "serve/options.h"

namespace attend::serve {

// Serves until SIGTERM or SIGINT; what was accepted is answered. Throws std::runtime_error, one sentence, if
// it cannot listen.
void serve(std::vector<ServedModel> models, const ServeOptions& options);

}  // namespace attend::serve
