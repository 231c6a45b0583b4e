// A figure into a file that is there complete or not at all.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "draw_cairo/render_page.h"

namespace attend::draw {

// Returns the notes of render_page(). Throws what that throws, before the file is touched, and FileError when
// the disk or the folder refuses.
std::vector<std::string> save_figure(const Figure& figure, const std::filesystem::path& file,
                                     PageFormat format, const FileOptions& options = {});

}  // namespace attend::draw
