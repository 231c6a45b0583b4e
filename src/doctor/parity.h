// Whether a model's vectors equal those of a reference and, if not, why.
#pragma once

#include <attend/text_model.h>

#include <string>
#include <vector>

#include "doctor/reference.h"
#include "doctor/report.h"

namespace attend::doctor {

// `holds`: everything in the reference is within noise, and its ids equal ours. Texts may be missing if the
// reference has no embeddings. Throws FileError if reference and model do not match.
Section parity_section(const TextModel& model, const Reference& reference,
                       const std::vector<std::string>* texts, bool& holds);

}  // namespace attend::doctor
