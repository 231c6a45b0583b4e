#include <attend/gguf.h>
#include <attend/model_files.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "checkpoint/hub_cache.h"
#include "checkpoint/known_models.h"
#include "checkpoint/sentence_modules.h"
#include "io/fail.h"
#include "io/json_fields.h"
#include "io/open_file.h"

namespace attend {

using namespace checkpoint;

namespace {

namespace fs = std::filesystem;

io::FileText text_inside(const fs::path& folder, const fs::path& name) {
  return io::read_text(io::open_inside(folder, name), io::kMaxConfigBytes);
}

// The first of these that is there, opened; empty when none is.
ModelFile first_of(const fs::path& folder, std::initializer_list<const char*> names) {
  for (const char* const name : names) {
    if (!io::exists_inside(folder, name)) continue;
    return {folder / name, std::make_shared<const io::InputFile>(io::open_inside(folder, name))};
  }
  return {};
}

io::FileText config_text(const ModelFile& file) { return io::read_text(*file.opened(), io::kMaxConfigBytes); }

// A way on, as the end of a sentence about what attend does not read.
constexpr const char* kReadableWeights =
    "attend reads safetensors and GGUF: download the model with `attend pull ORG/NAME`, or save it with "
    "save_pretrained() of transformers";

// A file of weights in a form that attend does not read, and whose it is.
struct OtherWeights {
  fs::path name;
  std::string_view form;
};

std::string_view form_of_weights(const fs::path& name) {
  constexpr std::pair<std::string_view, std::string_view> kForms[] = {
      {".onnx", "an ONNX file"},   {".bin", "a PyTorch file"},       {".pt", "a PyTorch file"},
      {".pth", "a PyTorch file"},  {".ckpt", "a checkpoint file"},   {".h5", "a Keras file"},
      {".msgpack", "a Flax file"}, {".tflite", "a TensorFlow file"}, {".ot", "a rust-bert file"},
  };
  const std::string extension = name.extension().string();
  for (const auto& [ending, form] : kForms) {
    if (extension == ending) return form;
  }
  return {};
}

// The first by name, in the folder or in its folder onnx.
std::optional<OtherWeights> other_weights_in(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const char* const place : {"", "onnx"}) {
    std::error_code error;
    for (fs::directory_iterator entry(folder / place, error), end; !error && entry != end;
         entry.increment(error)) {
      const fs::path name = fs::path(place) / entry->path().filename();
      const bool settings = name == "training_args.bin" || name.stem() == "optimizer";
      if (!settings && !form_of_weights(name).empty()) found.push_back(name);
    }
  }
  if (found.empty()) return std::nullopt;
  const fs::path first = *std::min_element(found.begin(), found.end());
  return OtherWeights{first, form_of_weights(first)};
}

[[noreturn]] void refuse_weights(const fs::path& folder, const OtherWeights& weights) {
  io::fail(folder.string(), "", "has its weights in ", io::shown(weights.name.string()), ", ", weights.form,
           "; ", kReadableWeights);
}

ModelFile weights_in(const fs::path& folder) {
  ModelFile weights = first_of(folder, {"model.safetensors", "model.safetensors.index.json"});
  if (!weights.empty()) return weights;
  if (const auto other = other_weights_in(folder)) refuse_weights(folder, *other);
  io::fail(folder.string(), "", "has neither model.safetensors nor model.safetensors.index.json");
}

// Everything about the model's own folder, where config.json is.
void find_transformer(const fs::path& folder, ModelFiles& files) {
  files.folder = folder;
  files.config = first_of(folder, {"config.json"});
  if (files.config.empty()) {
    if (const auto other = other_weights_in(folder)) refuse_weights(folder, *other);
    io::fail(folder.string(), "", "is not a model folder: it has no config.json and no GGUF file");
  }
  files.weights = weights_in(folder);
  files.tokenizer = first_of(folder, {"tokenizer.json", "vocab.txt"});
  files.tokenizer_config = first_of(folder, {"tokenizer_config.json"});
  files.generation_config = first_of(folder, {"generation_config.json"});
  files.chat_template = first_of(folder, {"chat_template.jinja"});
  if (!files.tokenizer_config.empty()) parse_tokenizer_config(config_text(files.tokenizer_config), files);
}

void find_sentence_modules(const fs::path& folder, ModelFiles& files) {
  const std::vector<Module> modules = parse_modules(text_inside(folder, "modules.json"));
  files.module_files = {"modules.json"};
  files.is_sentence_model = modules.size() > 1;
  for (const Module& module : modules) {
    const fs::path config = fs::path(module.folder) / "config.json";
    switch (module.kind) {
      case ModuleKind::transformer: {
        const fs::path inside = io::folder_inside(folder, module.folder);
        find_transformer(inside, files);
        const ModelFile sentence =
            first_of(inside, {"sentence_bert_config.json", "sentence_roberta_config.json",
                              "sentence_distilbert_config.json", "sentence_xlm-roberta_config.json"});
        if (!sentence.empty()) {
          parse_sentence_config(config_text(sentence), files);
          files.module_files.push_back((fs::path(module.folder) / sentence.filename()).string());
        }
        break;
      }
      case ModuleKind::pooling:
        parse_pooling(text_inside(folder, config), files);
        files.module_files.push_back(config.string());
        break;
      case ModuleKind::dense:
        files.dense.push_back(parse_dense(text_inside(folder, config)));
        files.module_files.push_back(config.string());
        files.dense.back().weights = weights_in(io::folder_inside(folder, module.folder));
        break;
      case ModuleKind::normalize:
        files.normalize = true;
        break;  // its folder is empty, so it may be missing
    }
  }
  if (io::exists_inside(folder, "config_sentence_transformers.json")) {
    parse_prompts(text_inside(folder, "config_sentence_transformers.json"), files);
    files.module_files.emplace_back("config_sentence_transformers.json");
  }
}

// A file that holds a whole model: its config, weights and tokenizer are one.
void find_in_file(const ModelFile& file, ModelFiles& files) {
  const fs::path& path = file.path();
  if (!Gguf::recognises(file)) {
    if (const std::string_view form = form_of_weights(path); !form.empty())
      io::fail(io::shown(file.string()), "", "is ", form, "; ", kReadableWeights);
    if (path.extension() == ".safetensors")
      io::fail(io::shown(file.string()), "",
               "holds weights alone: name the folder that also has config.json and the tokenizer");
    if (std::error_code error; fs::exists(path.parent_path() / "config.json", error))
      io::fail(io::shown(file.string()), "", "is one file of a model: name the folder that it is in");
    io::fail(io::shown(file.string()), "", "is neither a model folder nor a GGUF file");
  }
  files.root = files.folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  files.config = files.weights = files.tokenizer = file;
  const Gguf gguf = Gguf::open(file);
  const std::string key = std::string(gguf.string("general.architecture")) + ".pooling_type";
  switch (gguf.integer(key, 0, 255, 0)) {
    case 1:
      files.pooling = {Pooling::mean};
      break;
    case 2:
      files.pooling = {Pooling::cls};
      break;
    case 3:
      files.pooling = {Pooling::last_token};
      break;
    default:
      break;  // none, or the score of a pair
  }
}

// The one GGUF file of a folder without a config.json, which then is the model; empty where that does not
// apply.
ModelFile only_file_in(const fs::path& folder) {
  if (io::exists_inside(folder, "config.json") || io::exists_inside(folder, "modules.json")) return {};
  std::error_code error;
  fs::path found;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const fs::path name = entry->path().filename();
    if (name.extension() != ".gguf") continue;
    if (!found.empty()) {
      io::fail(folder.string(), "", "has several GGUF files, ", io::shown(std::min(found, name).string()),
               " and ", io::shown(std::max(found, name).string()), " among them: name the file");
    }
    found = name;
  }
  return found.empty() ? ModelFile() : first_of(folder, {found.c_str()});
}

// A folder as it is, or where the model of this name is kept.
fs::path folder_of(std::string_view name) {
  std::error_code error;
  const fs::path path(name);
  if (fs::is_directory(path, error)) return path;
  const std::string file = io::shown(name);
  const KnownModel* const known = known_model(name);
  std::optional<HubName> hub = parse_hub_name(known != nullptr ? known->repository : name);
  if (path.extension() == ".gguf" || !form_of_weights(path).empty())
    io::fail(file, "", "there is no such file");
  if (!hub) io::fail(file, "", "there is no such folder, and no model on the hub can have this name");

  if (const auto folder = kept_folder(*hub)) return *folder;
  if (hub->repository.find('/') == std::string::npos) {  // as sentence-transformers does it
    hub->repository.insert(0, "sentence-transformers/");
    if (const auto folder = kept_folder(*hub)) return *folder;
  }
  const std::string revision = hub->revision == HubName{}.revision ? "" : " at revision " + hub->revision;
  io::fail(file, "", "there is no such folder, and no model of this name", revision, " in ",
           hub_cache_folder().string(), " or ", models_folder().string(), "; `attend pull ",
           known != nullptr ? std::string(known->name) : file,
           "` downloads it, and `attend models` lists the models that are there");
}

}  // namespace

ModelFiles find_model(std::string_view name_or_folder) {
  if (name_or_folder.empty()) io::fail("''", "", "is not the name of a model");
  if (name_or_folder.find('\0') != std::string_view::npos)
    io::fail(io::shown(name_or_folder), "", "is not the name of a model");
  ModelFiles files;
  files.name = name_or_folder;
  std::error_code error;
  if (const fs::path path(name_or_folder); fs::exists(path, error) && !fs::is_directory(path, error)) {
    find_in_file({path, std::make_shared<const io::InputFile>(path)}, files);
    return files;
  }
  const fs::path folder = files.root = folder_of(name_or_folder);
  if (const ModelFile file = only_file_in(folder); !file.empty()) {
    find_in_file(file, files);
    return files;
  }
  if (io::exists_inside(folder, "modules.json")) {
    find_sentence_modules(folder, files);
  } else {
    find_transformer(folder, files);
  }
  return files;
}

}  // namespace attend
