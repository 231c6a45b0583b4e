// The families, one file each.
#pragma once

#include "model/families/family.h"

namespace attend::model {

extern const Family kBert, kRoberta, kDistilbert, kMpnet, kGpt2, kAttend;
extern const Family kModernbert, kNomicBert, kElectra, kAlbert, kT5;
extern const Family kLlama, kMistral, kQwen2, kQwen3, kGemma2, kGemma3, kPhi3, kOlmo2, kGptNeox;

}  // namespace attend::model
