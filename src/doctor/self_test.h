// Whether this machine computes correctly: one text, every instruction set, one and two threads.
#pragma once

#include <attend/text_model.h>

#include "doctor/report.h"

namespace attend::doctor {

// Changes the instruction set and the number of threads while it runs, and restores them: nothing else may
// use the library meanwhile. `passed` says whether everything held; if the model's numbers are not finite
// there is nothing to compare, and the section says where that begins.
Section self_test_section(const TextModel& model, bool& passed);

}  // namespace attend::doctor
