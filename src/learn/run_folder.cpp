#include "learn/run_folder.h"

#include <attend/file_error.h>

#include "io/open_file.h"

namespace attend::learn {

namespace fs = std::filesystem;

void prepare_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw FileError(folder.string(), "", "cannot be created: " + error.message());
  const bool empty = fs::is_empty(folder, error);
  if (error) throw FileError(folder.string(), "", "cannot be read: " + error.message());
  if (!empty) {
    throw FileError(folder.string(), "",
                    "is not empty; resume the training that was saved there, or name another folder");
  }
}

void require_plain_files(const fs::path& folder, const std::vector<fs::path>& names) {
  for (const fs::path& name : names) {
    const fs::path parent = name.parent_path();
    if (!parent.empty() && io::exists_inside(folder, parent)) {
      io::folder_inside(folder, parent.string());
    }
    if (io::exists_inside(folder, name)) io::open_inside(folder, name);
  }
}

}  // namespace attend::learn
