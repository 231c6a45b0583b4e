// Saves a figure to a file atomically.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "draw_cairo/render_page.h"

namespace attend::draw {

// Returns the notes of render_page(). Throws what that throws, before touching the file, and FileError when
// the file cannot be written.
std::vector<std::string> save_figure(const Figure& figure, const std::filesystem::path& file,
                                     PageFormat format, const FileOptions& options = {});

}  // namespace attend::draw
