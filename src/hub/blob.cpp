#include "hub/blob.h"

#include <algorithm>
#include <charconv>

#include "hub/partial_file.h"
#include "hub/retry.h"
#include "io/fail.h"
#include "io/open_file.h"

namespace attend::hub {
namespace {

namespace fs = std::filesystem;
using io::fail;

constexpr int kMostBlobRedirections = 5;
constexpr int kMostBeginnings = 3;
constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 40;

bool is_redirection(long status) { return status >= 300 && status < 400 && status != 304; }

// W/"abc" and "abc" are both abc.
std::string plain_etag(std::string etag) {
  if (etag.starts_with("W/")) etag.erase(0, 2);
  if (etag.size() >= 2 && etag.front() == '"' && etag.back() == '"') etag = etag.substr(1, etag.size() - 2);
  return etag;
}

std::uint64_t parse_size(const RemoteFile& file, const std::string& text) {
  std::uint64_t size = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || size > kLargestFile) {
    fail(file.repository, file.path, "the hub does not give the size of this file");
  }
  return size;
}

// Whether a 206 begins at the offset: "bytes 100-199/200".
bool begins_at(const HttpResponse& response, std::uint64_t offset) {
  return response.header("content-range").starts_with("bytes " + std::to_string(offset) + "-");
}

// Downloads what one connection delivers. True when the file is complete; false when it must start over.
bool download_rest(Http& http, const RemoteFile& file, PartialFile& partial,
                   const std::function<void(std::uint64_t)>& progress) {
  const std::uint64_t offset = partial.size();
  bool too_long = false;
  const auto started = [&](const HttpResponse& response) {
    if (response.status == 200 && offset > 0) partial.restart();  // this server only sends whole files
    return response.status != 206 || begins_at(response, offset);
  };
  const auto piece = [&](std::string_view bytes) {
    too_long = bytes.size() > file.size - partial.size();
    if (too_long) return false;
    partial.write(bytes);
    progress(partial.size());
    return true;
  };
  const HttpResponse response = http.download(file.url, offset, started, piece);
  if (too_long) {
    partial.remove();
    fail(file.repository, file.path, "is longer than the ", file.size, " bytes that the hub announced");
  }
  if (offset == 0 && response.status == 416) refuse_status(file.repository, file.path, response);
  if (response.status == 416 || (response.status == 206 && !begins_at(response, offset))) {
    partial.restart();
    return false;
  }
  if (is_temporary(response.status))
    throw ConnectionError("the hub answered " + std::to_string(response.status));
  if (response.status != 200 && response.status != 206) refuse_status(file.repository, file.path, response);
  if (partial.size() < file.size) {
    const std::uint64_t size = partial.size();
    partial.remove();
    fail(file.repository, file.path, "has ", size, " bytes, but the hub announced ", file.size);
  }
  return true;
}

void check_hash(const RemoteFile& file, PartialFile& partial) {
  const std::string found = partial.hash_like(file.etag);
  if (found == file.etag) return;
  partial.remove();
  fail(file.repository, file.path, "was damaged in transit: its hash is ", found, ", not ", file.etag);
}

}  // namespace

void refuse_status(const std::string& repository, const std::string& path, const HttpResponse& response) {
  const std::string code = response.header("x-error-code");
  if (code == "RevisionNotFound") fail(repository, path, "has no such revision on the hub");
  if (code == "GatedRepo" || response.status == 403) {
    fail(repository, path, "requires permission: request access on the model's page, then set HF_TOKEN");
  }
  if (response.status == 401) {
    fail(repository, path, "does not exist on the hub, or is private; for a private one set HF_TOKEN");
  }
  if (response.status == 404) fail(repository, path, "is not on the hub");
  fail(repository, path, "the hub answered ", response.status);
}

RemoteFile ask_for_file(Http& http, const std::string& endpoint, const std::string& repository,
                        const std::string& commit, const std::string& path) {
  RemoteFile file{repository, path, endpoint + "/" + repository + "/resolve/" + commit + "/" + path, "", 0};
  std::string url = file.url;
  HttpResponse response;
  for (int hop = 0;; ++hop) {
    response = ask(repository, [&] { return http.head(url); });
    const std::string location = response.header("location");
    const bool on_the_hub = location.starts_with("/") && !location.starts_with("//");
    if (!is_redirection(response.status) || !response.header("x-linked-etag").empty() || !on_the_hub) break;
    if (hop == kMostBlobRedirections) fail(repository, path, "the hub redirects in circles");
    url = endpoint.substr(0, endpoint.find('/', endpoint.find("//") + 2)) + location;
  }
  if (response.status != 200 && !is_redirection(response.status)) refuse_status(repository, path, response);

  const std::string linked = response.header("x-linked-etag"), length = response.header("x-linked-size");
  file.etag = plain_etag(linked.empty() ? response.header("etag") : linked);
  if (!io::is_plain_name(file.etag) || file.etag.front() == '.') {
    fail(repository, path, "the hub gives this file no etag");
  }
  file.size = parse_size(file, length.empty() ? response.header("content-length") : length);
  return file;
}

void fetch_blob(Http& http, const RemoteFile& file, const fs::path& blobs,
                const std::function<void(std::uint64_t)>& progress) {
  const fs::path blob = blobs / file.etag;
  std::error_code error;
  if (fs::file_size(blob, error) == file.size && !error) return progress(file.size);

  PartialFile partial(file.repository, blobs / (file.etag + ".incomplete"));
  if (partial.size() > file.size) partial.restart();
  progress(partial.size());
  Patience patience(file.repository);
  int beginnings = 0;
  for (bool done = partial.size() == file.size && file.size > 0; !done;) {
    const std::uint64_t before = partial.size();
    try {
      done = download_rest(http, file, partial, progress);
      if (!done && ++beginnings == kMostBeginnings)
        fail(file.repository, file.path, "the hub answers with different bytes than requested");
    } catch (const ConnectionError& failure) {
      if (partial.size() > before) patience.renew();  // failures do not count while bytes keep arriving
      patience.after(failure);
    }
  }
  check_hash(file, partial);
  partial.become(blob);
}

}  // namespace attend::hub
