// Downloads one file from the hub into the cache.
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

// Asks the hub for it; follows redirects within the hub, but not to where the bytes are stored.
RemoteFile ask_for_file(Http& http, const std::string& endpoint, const std::string& repository,
                        const std::string& commit, const std::string& path);

// blobs/ETAG. An interrupted download is resumed (blobs/ETAG.incomplete); size and hash are checked before
// the file gets its name. `progress` is called with the number of bytes so far.
void fetch_blob(Http& http, const RemoteFile& file, const std::filesystem::path& blobs,
                const std::function<void(std::uint64_t)>& progress);

// Throws FileError with one sentence for an unsuccessful answer.
[[noreturn]] void refuse_status(const std::string& repository, const std::string& path,
                                const HttpResponse& response);

}  // namespace attend::hub
