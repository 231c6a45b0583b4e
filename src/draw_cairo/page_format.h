// The formats that a figure can be saved in.
#pragma once

#include <filesystem>
#include <optional>

namespace attend::draw {

enum class PageFormat { svg, png, pdf };

// By the extension of a file, in upper or lower case; empty for any other extension.
std::optional<PageFormat> page_format_of(const std::filesystem::path& file);

}  // namespace attend::draw
