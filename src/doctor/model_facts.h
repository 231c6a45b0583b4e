// What a model is, as its folder says.
#pragma once

#include <attend/text_model.h>

#include "doctor/report.h"

namespace attend::doctor {

// `finite`: all weights are numbers. Where some are NaN or infinite, the tensors are named.
Section model_section(const TextModel& model, bool& finite);

// "256, as sentence_bert_config.json says": the limit, and which of several limits it is.
std::string who_limits(const TextModel& model);

}  // namespace attend::doctor
