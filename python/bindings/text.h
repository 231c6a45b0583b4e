// Text from Python and back.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>

#include "errors.h"

namespace attend_python {

// The UTF-8 of a str, or bytes as they are. The object must outlive the view.
inline std::string_view text_of(nanobind::handle text, const char* name) {
  Py_ssize_t size = 0;
  if (PyBytes_Check(text.ptr())) {
    char* bytes = nullptr;
    if (PyBytes_AsStringAndSize(text.ptr(), &bytes, &size) != 0) throw nanobind::python_error();
    return {bytes, static_cast<std::size_t>(size)};
  }
  if (!PyUnicode_Check(text.ptr())) refuse_type(name, " is neither str nor bytes");
  const char* const bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (bytes == nullptr) throw nanobind::python_error();  // a lone surrogate
  return {bytes, static_cast<std::size_t>(size)};
}

// Bytes that are not UTF-8 become U+FFFD: a token may be a part of a character.
inline nanobind::object text_from(const std::string& bytes) {
  return nanobind::steal(
      PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace"));
}

}  // namespace attend_python
