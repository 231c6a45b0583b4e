// One file of the hub, brought into the cache.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "hub/http.h"

namespace attend::hub {

// What the hub says about a file before it is downloaded.
struct RemoteFile {
  std::string repository, path;  // what FileError names
  std::string url;
  std::string etag;  // the blob's name in the cache: a git hash (40 digits) or, of large files, SHA-256 (64)
  std::uint64_t size = 0;
};

// Asks for it; follows redirections on the hub itself, but not to where the bytes are.
RemoteFile ask_for(Http& http, const std::string& endpoint, const std::string& repository,
                   const std::string& commit, const std::string& path);

// blobs/ETAG. An interrupted download goes on where it was (blobs/ETAG.incomplete); size and hash are checked
// before the file gets its name. `progress` gets the bytes there are so far.
void fetch_blob(Http& http, const RemoteFile& file, const std::filesystem::path& blobs,
                const std::function<void(std::uint64_t)>& progress);

// One sentence for an answer that is no success. Throws FileError.
[[noreturn]] void refuse_status(const std::string& repository, const std::string& path,
                                const HttpResponse& response);

}  // namespace attend::hub
