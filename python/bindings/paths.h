// A file or folder as Python names it: a str, bytes or an os.PathLike.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>

#include <filesystem>
#include <string>

#include "errors.h"

namespace attend_python {

inline std::filesystem::path path_from(nanobind::handle value, const char* name) {
  std::filesystem::path path;
  if (nanobind::try_cast(value, path)) return path;
  refuse_type(name, " must be a str or a path, not ",
              nanobind::cast<std::string>(nanobind::str(value.type().attr("__name__"))));
}

}  // namespace attend_python
