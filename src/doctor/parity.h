// Whether a model's vectors equal those of a reference, and if not, why.
#pragma once

#include <attend/text_model.h>

#include <string>
#include <vector>

#include "doctor/reference.h"
#include "doctor/report.h"

namespace attend::doctor {

// `holds`: everything that the reference has is within noise, and its ids are ours. Texts may be missing
// where the reference has no embeddings. Throws FileError where the two do not go together.
Section parity_section(const TextModel& model, const Reference& reference,
                       const std::vector<std::string>* texts, bool& holds);

}  // namespace attend::doctor
