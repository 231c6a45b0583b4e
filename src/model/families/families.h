// The families, one file each.
#pragma once

#include "model/families/family.h"

namespace attend::model {

extern const Family kBert, kRoberta, kDistilbert, kMpnet, kGpt2, kAttend;

}  // namespace attend::model
