// What other bindings need of an EncoderCore.
#pragma once

#include <nanobind/nanobind.h>

#include <attend/text_model.h>

namespace attend_python {

// The model behind an EncoderCore, which is the only type that is taken.
attend::TextModel model_of(nanobind::handle encoder);

}  // namespace attend_python
