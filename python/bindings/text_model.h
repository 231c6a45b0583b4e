// What other bindings need of a TextModelCore.
#pragma once

#include <nanobind/nanobind.h>

#include <attend/text_model.h>

namespace attend_python {

// The model behind a TextModelCore, which is the only type that is taken.
attend::TextModel model_of(nanobind::handle model);

}  // namespace attend_python
