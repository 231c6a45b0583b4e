// How files are refused: FileError, with names of unknown origin made safe to show.
#pragma once

#include <attend/file_error.h>

#include <sstream>
#include <string>
#include <string_view>

namespace attend::io {

// The text on one line, unable to drive a terminal: control characters and bytes that are not UTF-8 become
// \xNN, and what is longer than 80 bytes is cut.
std::string shown(std::string_view text);
std::string quoted(std::string_view text);  // the same in double quotes

// fail("model.safetensors", "embeddings.weight", "has ", 3, " dimensions, expected ", 2)
template <class... Parts>
[[noreturn]] void fail(std::string_view file, std::string_view where, const Parts&... parts) {
  std::ostringstream rule;
  (rule << ... << parts);
  throw FileError(std::string(file), shown(where), rule.str());
}

}  // namespace attend::io
