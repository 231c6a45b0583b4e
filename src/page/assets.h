// The files of web/ that are built into the program: "index.html", "style/base.css", "math/softmax.js", ...
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attend::page {

// The bytes of a file; empty if there is no such file.
std::string_view asset(std::string_view name) noexcept;

std::vector<std::string> asset_names();

}  // namespace attend::page
