// The sections of the doctor's report.
#pragma once

#include <attend/text_model.h>

#include <string>
#include <vector>

#include "doctor/reference.h"
#include "doctor/report.h"

namespace attend::doctor {

// What this machine has, what attend will use of it, and why.
Section machine_section();

// The hub's cache, and the environment variables that are set. Tokens are never shown.
Section settings_section();

// What a model is, according to its folder. `finite`: whether all weights are finite. Tensors with NaN or
// infinity are listed.
Section model_section(const TextModel& model, bool& finite);

// Whether this machine computes correctly: one text, every instruction set, one and two threads. Changes the
// instruction set and the number of threads while it runs, and restores them: nothing else may use the
// library meanwhile. `passed` says whether everything held; if the model's numbers are not finite there is
// nothing to compare, and the section says where that begins.
Section self_test_section(const TextModel& model, bool& passed);

// What each precision costs this model in exactness, on the texts that the program carries. Loads the model
// once for each of them.
Section precisions_section(const TextModel& model);

// Whether a model's vectors equal those of a reference and, if not, why. `holds`: everything in the reference
// is within noise, and its ids equal ours. Texts may be missing if the reference has no embeddings. Throws
// FileError if reference and model do not match.
Section parity_section(const TextModel& model, const Reference& reference,
                       const std::vector<std::string>* texts, bool& holds);

}  // namespace attend::doctor
