// What the parts of attend.train share.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <mutex>
#include <string>

#include "compute.h"
#include "learn/config.h"
#include "train/parameters.h"

namespace attend_python {

struct ConfigCore {
  attend::learn::Config config;
};

// A model changes while it learns, so it serves one caller at a time. While this lives the caller has it, and
// computes: other Python threads run, and those that want the same model wait.
class Serving {
 public:
  explicit Serving(std::mutex& model, Signals signals = Signals::wait)
      : computing_(signals), holding_(&model), model_(model) {}

 private:
  Computing computing_;  // first: who waits for a lock must not hold the GIL
  Holding holding_;
  std::unique_lock<std::mutex> model_;
};

// Name -> a copy as a NumPy array. `part`: one of Parameters' value() and gradient().
using ParameterPart = attend::TensorView (attend::train::Parameters::*)(int);
nanobind::dict copies_of(attend::train::Parameters& parameters, ParameterPart part, std::mutex& model);

// Those that are named get these values; the others stay. All are looked at before any is written.
void load_parameters(attend::train::Parameters& parameters, const nanobind::dict& values, std::mutex& model);

// Bytes that are not UTF-8 become U+FFFD: a token may be a part of a character.
inline nanobind::object text_from(const std::string& bytes) {
  return nanobind::steal(
      PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace"));
}

}  // namespace attend_python
