// The formats that a figure can be saved in.
#pragma once

#include <filesystem>
#include <optional>

namespace attend::draw {

enum class PageFormat { svg, png, pdf };

// After the extension of a file, in upper or lower case; none for another.
std::optional<PageFormat> page_format_of(const std::filesystem::path& file);

}  // namespace attend::draw
