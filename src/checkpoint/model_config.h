// A config.json that is in memory already.
#pragma once

#include <attend/model_config.h>

#include "io/open_file.h"

namespace attend::checkpoint {

ModelConfig parse_model_config(io::FileText text);

}  // namespace attend::checkpoint
