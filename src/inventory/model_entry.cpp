#include "inventory/model_entry.h"

#include <attend/gguf.h>
#include <attend/model_description.h>
#include <attend/model_files.h>
#include <attend/tokenizer.h>
#include <attend/transformer.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <optional>

#include "base/error.h"
#include "io/fail.h"
#include "io/json_fields.h"
#include "io/open_file.h"

namespace attend::inventory {
namespace {

namespace fs = std::filesystem;

constexpr int kMostFiles = 4096;  // of a model's folder that are counted
constexpr int kMostFolderDepth = 2;

// The bytes of the files of a folder. Links to files are followed, since the hub's cache is made of them;
// links to folders are not.
std::uint64_t bytes_in(const fs::path& folder) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  std::uint64_t total = 0;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied, error);
  for (int seen = 0; !error && entry != fs::recursive_directory_iterator() && seen < kMostFiles; ++seen) {
    std::error_code unknown;
    if (entry.depth() >= kMostFolderDepth) entry.disable_recursion_pending();
    if (entry->is_regular_file(unknown)) {
      const std::uintmax_t size = entry->file_size(unknown);
      if (!unknown) total = std::min<std::uint64_t>(kMost, total + std::min<std::uint64_t>(size, kMost));
    }
    entry.increment(error);
  }
  return total;
}

// What config.json, or a GGUF file, calls the model; empty where it does not say.
std::string named_family(const ModelFile& config) {
  try {
    if (Gguf::recognises(config)) return io::shown(Gguf::open(config).string("general.architecture", ""));
    return io::shown(
        io::JsonFields(io::read_text(*config.opened(), io::kMaxConfigBytes)).string("model_type", ""));
  } catch (const std::exception&) {
    return "";  // what is wrong with the file has been told
  }
}

// What a file is refused for, without the folder that the entry names anyway.
std::string phrase_of(const FileError& error, const fs::path& place) {
  const fs::path file(error.file());
  std::string phrase = file == place ? "" : io::shown(file.filename().string()) + ": ";
  if (!error.where().empty()) phrase += error.where() + ": ";
  return phrase + error.rule();
}

// Runs one step of reading a model; the first that fails is the problem.
template <class Step>
bool tried(ModelEntry& entry, const Step& step) {
  try {
    step();
    return true;
  } catch (const FileError& error) {
    if (entry.problem.empty()) entry.problem = phrase_of(error, entry.path);
  } catch (const std::exception& error) {
    if (entry.problem.empty()) entry.problem = plain_sentence(error);
  }
  return false;
}

void describe_shape(ModelEntry& entry, const ModelDescription& description) {
  entry.family = description.family;
  entry.scores = description.sequence_head.has_value();
  entry.writes = !entry.scores && (description.is_causal() || description.has_source());
  entry.layers = description.layer_count();
  entry.heads = description.heads();
  entry.key_heads = description.layers.front().attention.key_heads;
}

void read_config(ModelEntry& entry, const ModelFile& config) {
  try {
    describe_shape(entry, read_model_description(config));
  } catch (const FileError& error) {
    entry.family = named_family(config);
    const bool unknown = error.where() == "model_type" || error.where() == "general.architecture";
    if (!unknown || entry.family.empty()) throw;
    throw FileError(entry.path.string(), "", entry.family + " is not a family that attend supports");
  }
}

// The config of a folder whose other files are not all there.
std::optional<ModelFile> lone_config(const fs::path& folder) {
  if (!io::exists_inside(folder, "config.json")) return std::nullopt;
  return ModelFile(folder / "config.json",
                   std::make_shared<const io::InputFile>(io::open_inside(folder, "config.json")));
}

}  // namespace

bool is_model_folder(const fs::path& folder) {
  return io::exists_inside(folder, "config.json") || io::exists_inside(folder, "modules.json");
}

ModelEntry describe_entry(std::string name, fs::path path) {
  ModelEntry entry{.name = std::move(name), .path = std::move(path)};
  std::error_code error;
  const bool folder = fs::is_directory(entry.path, error);
  entry.bytes = folder ? bytes_in(entry.path) : fs::file_size(entry.path, error);
  if (error) entry.bytes = 0;
  std::optional<ModelFiles> files;
  if (!tried(entry, [&] { files = find_model(entry.path.string()); })) {
    // An unsupported family is the better reason, and its config says more than its name.
    std::string missing;
    std::swap(missing, entry.problem);
    tried(entry, [&] {
      if (const auto config = folder ? lone_config(entry.path) : std::nullopt) read_config(entry, *config);
    });
    if (entry.problem.empty()) entry.problem = missing;
    return entry;
  }
  entry.vectors = files->is_sentence_model;
  tried(entry, [&] { read_config(entry, files->config); });
  tried(entry, [&] { entry.weights = weight_totals(Checkpoint::open(files->weights)); });
  tried(entry, [&] {
    if (files->tokenizer.empty())
      throw FileError(entry.path.string(), "", "has no tokenizer that attend reads");
    Tokenizer::load(*files);
    entry.tokenizer = true;
  });
  return entry;
}

}  // namespace attend::inventory
