// What the parts of attend.train share.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <mutex>

#include "learn/config.h"
#include "serving.h"
#include "text.h"
#include "train/parameters.h"

namespace attend_python {

struct ConfigCore {
  attend::learn::Config config;
};

// Name -> a copy as a NumPy array. `part`: one of Parameters' value() and gradient().
using ParameterPart = attend::TensorView (attend::train::Parameters::*)(int);
nanobind::dict copies_of(attend::train::Parameters& parameters, ParameterPart part, std::mutex& model);

// Sets the parameters that are named. All are checked before any is written.
void load_parameters(attend::train::Parameters& parameters, const nanobind::dict& values, std::mutex& model);

}  // namespace attend_python
