// What the hub says a repository holds, and which of it attend needs.
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

// config.json, tokenizer and safetensors files, and what sentence-transformers adds, also in its folders
// 1_Pooling and so on; of weights in one file and in several, the one. Throws FileError when there are no
// safetensors.
std::vector<std::string> wanted_files(const std::string& repository, const std::vector<std::string>& files);

}  // namespace attend::hub
