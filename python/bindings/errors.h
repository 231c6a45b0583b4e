// One sentence, put together from parts, as a Python exception.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <sstream>

namespace attend_python {

template <class... Parts>
[[noreturn]] void refuse_type(const Parts&... parts) {
  std::ostringstream sentence;
  (sentence << ... << parts);
  throw nanobind::type_error(sentence.str().c_str());
}

template <class... Parts>
[[noreturn]] void refuse_value(const Parts&... parts) {
  std::ostringstream sentence;
  (sentence << ... << parts);
  throw nanobind::value_error(sentence.str().c_str());
}

}  // namespace attend_python
