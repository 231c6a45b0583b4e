// The folder of a run: empty when one starts, and made of plain files when one resumes.
#pragma once

#include <filesystem>
#include <vector>

namespace attend::learn {

// Makes a folder, or takes an empty one. Throws FileError for one that is not empty.
void prepare_folder(const std::filesystem::path& folder);

// Checks, before anything is trained, what a run will overwrite. Throws FileError for a name that exists and
// is not a file: a folder, a pipe, a device, or a link that leads out of the folder, where a run from
// somebody else must not change anything.
void require_plain_files(const std::filesystem::path& folder,
                         const std::vector<std::filesystem::path>& names);

}  // namespace attend::learn
