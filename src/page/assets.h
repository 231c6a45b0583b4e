// The files of web/ as the program carries them: "index.html", "style/base.css", "math/softmax.js", ...
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attend::page {

// The bytes of a file; empty for one that is not there.
std::string_view asset(std::string_view name) noexcept;

std::vector<std::string> asset_names();

}  // namespace attend::page
