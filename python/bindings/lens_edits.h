// What is taken away from a pass: in words, or as numbers.
#pragma once

#include <nanobind/nanobind.h>

#include "lens.h"

namespace attend_python {

// Of each: a str as parse_edit() reads it, or an attend.lens.HeadEdit or LinkEdit.
attend::PassEdits edits_from(const LensReading& reading, nanobind::handle edits);

}  // namespace attend_python
