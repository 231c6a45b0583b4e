// What a model is, as its folder says.
#pragma once

#include <attend/text_model.h>

#include "doctor/report.h"

namespace attend::doctor {

Section model_section(const TextModel& model);

// "256, as sentence_bert_config.json says": the limit, and which of several limits it is.
std::string who_limits(const TextModel& model);

}  // namespace attend::doctor
