// Whole numbers that name rows of a table or answers: of any shape, from a list or an array.
#pragma once

#include <nanobind/nanobind.h>

#include <attend/tensor.h>

#include <cstdint>
#include <vector>

namespace attend_python {

struct Ids {
  // name: what errors call them. Throws TypeError for what is not a whole number, ValueError for one beyond
  // 32 bits.
  Ids(nanobind::handle object, const char* name);

  std::vector<std::int32_t> values;
  attend::Dims shape;
};

// The same, where there is one axis.
std::vector<std::int32_t> ids_of_text(nanobind::handle object, const char* name);

}  // namespace attend_python
