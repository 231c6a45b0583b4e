// Whether this machine computes what it should: one text, every instruction set, one and two threads.
#pragma once

#include <attend/text_model.h>

#include "doctor/report.h"

namespace attend::doctor {

// Changes the instruction set and the threads while it runs, and puts them back: nothing else of the library
// may run meanwhile. `passed` is whether everything held; where the model's
// numbers are not finite there is nothing to compare, and the section says where they begin.
Section self_test_section(const TextModel& model, bool& passed);

}  // namespace attend::doctor
