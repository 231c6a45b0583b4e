// The folder of a run: empty when one starts, and made of plain files when one goes on.
#pragma once

#include <filesystem>
#include <vector>

namespace attend::learn {

// Makes a folder, or takes an empty one. Throws FileError for one that is not.
void prepare_folder(const std::filesystem::path& folder);

// Looks, before anything is trained, at what a run will write over. Throws FileError for a name that is there
// and is not a file: a folder, a pipe, a device, or a link that leads out of the folder, where a run from
// somebody else must change nothing.
void require_plain_files(const std::filesystem::path& folder,
                         const std::vector<std::filesystem::path>& names);

}  // namespace attend::learn
