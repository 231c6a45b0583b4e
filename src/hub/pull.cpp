#include "hub/pull.h"

#include <attend/model_files.h>
#include <unistd.h>

#include <optional>
#include <system_error>

#include "checkpoint/hub_cache.h"
#include "hub/blob.h"
#include "hub/listing.h"
#include "hub/retry.h"
#include "io/fail.h"
#include "save/output_file.h"

namespace attend::hub {
namespace {

namespace fs = std::filesystem;
using io::fail;

constexpr std::size_t kLargestListing = std::size_t{16} << 20;

Listing ask_listing(Http& http, const std::string& endpoint, const checkpoint::HubName& name) {
  const std::string url = endpoint + "/api/models/" + name.repository + "/revision/" + name.revision;
  HttpResponse response = ask(name.repository, [&] { return http.get(url, kLargestListing); });
  if (response.status != 200) refuse_status(name.repository, "", response);
  return parse_listing(name.repository, std::move(response.body));
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail(folder.string(), "", "cannot be created: ", error.message());
}

// snapshots/COMMIT/PATH -> ../../blobs/ETAG, put in place atomically: an existing link is replaced and never
// missing.
void link_blob(const fs::path& snapshot, const std::string& path, const std::string& etag) {
  const fs::path link = snapshot / path;
  make_folder(link.parent_path());
  fs::path target = "../..";
  for (auto part = fs::path(path).parent_path(); !part.empty(); part = part.parent_path()) target /= "..";
  target /= fs::path("blobs") / etag;
  const fs::path fresh =
      link.parent_path() / ("." + link.filename().string() + "." + std::to_string(::getpid()));
  std::error_code error;
  fs::remove(fresh, error);
  fs::create_symlink(target, fresh, error);
  if (!error) fs::rename(fresh, link, error);
  if (error) fail(link.string(), "", "cannot be created: ", error.message());
}

// The model as it is kept on this machine: complete, though the hub may have a newer one.
std::optional<fs::path> kept_copy(const HubSettings& settings, const checkpoint::HubName& name) {
  if (auto snapshot = checkpoint::find_snapshot(settings.cache, name)) return snapshot;
  return checkpoint::kept_folder(name);
}

fs::path download(const HubSettings& settings, const checkpoint::HubName& name,
                  const std::function<void(const PullProgress&)>& progress) {
  Http http(settings.token);
  const Listing listing = ask_listing(http, settings.endpoint, name);
  const std::vector<std::string> files = wanted_files(name.repository, listing.files);
  const fs::path repository = checkpoint::repository_folder(settings.cache, name.repository);
  const fs::path snapshot = repository / "snapshots" / listing.commit;
  make_folder(repository / "blobs");
  make_folder(repository / "refs");
  make_folder(snapshot);
  PullProgress state;
  state.count = static_cast<int>(files.size());
  for (const std::string& path : files) {
    state.file = path;
    ++state.number;
    const RemoteFile file = ask_for_file(http, settings.endpoint, name.repository, listing.commit, path);
    state.total = file.size;
    fetch_blob(http, file, repository / "blobs", [&](std::uint64_t bytes) {
      state.bytes = bytes;
      progress(state);
    });
    link_blob(snapshot, path, file.etag);
  }
  if (name.revision != listing.commit) {
    save::OutputFile reference(repository / "refs" / name.revision);
    reference.write(listing.commit);
    reference.commit();
  }
  return snapshot;
}

}  // namespace

fs::path pull(const HubSettings& settings, std::string_view asked,
              const std::function<void(const std::string&)>& say,
              const std::function<void(const PullProgress&)>& progress) {
  const std::string shown = io::shown(asked);
  const auto name = checkpoint::parse_hub_name(asked);
  if (!name)
    fail(shown, "", "is not a valid name of a model on the hub: expected ORG/NAME or ORG/NAME@REVISION");
  if (settings.offline) {
    if (const auto kept = kept_copy(settings, *name)) return *kept;
    fail(shown, "", "is neither in the hub's cache, ", settings.cache.string(), ", nor in ",
         models_folder().string(), ", and HF_HUB_OFFLINE forbids downloading it");
  }
  try {
    return download(settings, *name, progress);
  } catch (const Unreachable& error) {
    const auto kept = kept_copy(settings, *name);
    if (!kept) throw;
    say(std::string(error.what()) + "; this is the model that is on this machine already.");
    return *kept;
  }
}

}  // namespace attend::hub
