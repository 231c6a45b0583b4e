// What a model is, according to its folder.
#pragma once

#include <attend/text_model.h>

#include "doctor/report.h"

namespace attend::doctor {

// `finite`: whether all weights are finite. Tensors with NaN or infinity are listed.
Section model_section(const TextModel& model, bool& finite);

// "256, as sentence_bert_config.json says": the limit, and which of several limits it is.
std::string who_limits(const TextModel& model);

}  // namespace attend::doctor
