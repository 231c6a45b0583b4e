// The files that a repository on the hub holds, and which of them attend needs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attend::hub {

struct Listing {
  std::string commit;
  std::vector<std::string> files;
};

// From the answer of api/models/REPOSITORY/revision/REVISION. `repository` is what FileError names.
Listing parse_listing(const std::string& repository, std::string text);

// config.json, tokenizer and safetensors files, and what sentence-transformers adds, also in its folders such
// as 1_Pooling; where weights are available both as one file and as several, the single file. Throws
// FileError when there are no safetensors.
std::vector<std::string> wanted_files(const std::string& repository, const std::vector<std::string>& files);

}  // namespace attend::hub
