// The families, one file each.
#pragma once

#include "model/families/family.h"

namespace attend::model {

extern const Family kBert, kRoberta, kDistilbert, kMpnet, kGpt2, kAttend;
extern const Family kModernbert, kNomicBert, kElectra, kAlbert, kT5;

}  // namespace attend::model
