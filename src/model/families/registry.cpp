// The list of families.
#include <attend/gguf.h>
#include <attend/model_files.h>

#include <array>
#include <utility>

#include "base/error.h"
#include "model/families/families.h"
#include "model/families/gguf_form.h"
#include "model/families/sequence_config.h"

namespace attend {
namespace model {
namespace {

constexpr std::array kFamilies = {
    &kBert,      &kRoberta, &kDistilbert, &kMpnet, &kGpt2,  &kAttend,  &kModernbert,
    &kNomicBert, &kElectra, &kAlbert,     &kT5,    &kLlama, &kMistral, &kQwen2,
    &kQwen3,     &kGemma2,  &kGemma3,     &kPhi3,  &kOlmo2, &kGptNeox,
};

// Objects and lists that families look into.
constexpr std::array<std::string_view, 12> kKeptKeys = {
    "architectures",  "text_config",       "rope_parameters", "rope_scaling",
    "full_attention", "sliding_attention", "short_factor",    "long_factor",
    "layer_types",    "eos_token_id",      "id2label",        "sentence_transformers",
};

const Family& family_of_type(const io::JsonFields& config) {
  const std::string_view type = config.string("model_type");
  std::string known;
  for (const Family* const family : kFamilies) {
    for (const std::string_view name : family->model_types) {
      if (name == type) return *family;
      known.append(known.empty() ? "" : ", ").append(name);
    }
  }
  config.refuse("model_type", "\"", io::shown(type), "\" is not a family that attend supports: ", known);
}

}  // namespace

std::span<const Family* const> families() { return kFamilies; }

const Family& family_of(const ModelDescription& description) {
  for (const Family* const family : kFamilies) {
    if (family->name == description.family) return *family;
  }
  refuse("model", "there is no family \"", description.family, '"');
}

const Family& storing_family(const ModelDescription& description) {
  for (const Family* const family : kFamilies) {
    if (family->stores != nullptr && family->stores(description)) return *family;
  }
  refuse("model", "no family can store such a model");
}

ModelDescription describe_model(io::FileText config_json) {
  bool has_code = false;
  using io::JsonKind;
  using io::JsonReader;
  const auto nested = [&](JsonReader& json, std::string_view key) {
    if (key != "auto_map" || json.kind() != JsonKind::object) return false;
    json.object(key, [&](std::string_view what) {
      json.skip(key);
      has_code = has_code || what == "AutoModel" || what == "AutoConfig";
    });
    return true;
  };
  const io::JsonFields config(std::move(config_json), nested, kKeptKeys);
  const Family& family = family_of_type(config);
  if (has_code && !family.replaces_code)
    config.refuse("auto_map", "asks for program code that comes with the model, which attend does not run");
  ModelDescription description = family.describe(config);
  description.family = family.name;
  description.model_type = config.string("model_type");
  for (const std::string_view name : read_architectures(config)) description.architectures.emplace_back(name);
  // Of the families that score the vector of the first token, the most; the others have asked for theirs.
  if (!description.sequence_head) description.sequence_head = read_sequence_head(config, Pooling::cls);
  return description;
}

}  // namespace model

ModelDescription read_model_description(const std::filesystem::path& config_json) {
  return read_model_description(ModelFile(config_json, std::make_shared<const io::InputFile>(config_json)));
}

ModelDescription read_model_description(const ModelFile& config_json) {
  if (Gguf::recognises(config_json)) return model::describe_gguf(Gguf::open(config_json));
  return model::describe_model(io::read_text(*config_json.opened(), io::kMaxConfigBytes));
}

std::vector<std::string_view> family_names() {
  std::vector<std::string_view> names;
  for (const model::Family* const family : model::families()) names.push_back(family->name);
  return names;
}

}  // namespace attend
