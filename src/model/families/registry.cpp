// The list of families.
#include <attend/gguf.h>
#include <attend/model_files.h>

#include <algorithm>
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

std::string letters_of(std::string_view name) {
  std::string letters;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') letters += static_cast<char>(c - 'A' + 'a');
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) letters += c;
  }
  return letters;
}

// Whether a class of transformers is of a model_type: "XLMRobertaForMaskedLM" is of "xlm-roberta".
bool is_class_of(std::string_view architecture, std::string_view type) {
  const std::string prefix = letters_of(type);
  if (letters_of(architecture.substr(0, prefix.size())) != prefix) return false;
  const std::string_view rest = architecture.substr(prefix.size());
  return std::ranges::any_of(std::array{"Model", "For", "LMHeadModel", "DoubleHeadsModel", "PreTrainedModel"},
                             [&](std::string_view what) { return rest.starts_with(what); });
}

// The model_type, which configs of 2019 leave to the name of the class.
std::string_view model_type_of(const io::JsonFields& config) {
  if (config.has("model_type")) return config.string("model_type");
  const std::vector<std::string_view> classes = read_architectures(config);
  for (const std::string_view name : classes) {
    for (const Family* const family : kFamilies) {
      for (const std::string_view type : family->model_types) {
        if (is_class_of(name, type)) return type;
      }
    }
  }
  if (classes.empty()) config.refuse("model_type", "is missing, and so is architectures");
  config.refuse("model_type", "is missing, and ", io::quoted(classes.front()),
                " of architectures is not a model that attend supports");
}

const Family& family_of_type(const io::JsonFields& config, std::string_view type) {
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
  const std::string_view type = model_type_of(config);
  const Family& family = family_of_type(config, type);
  if (has_code && !family.replaces_code)
    config.refuse("auto_map", "asks for program code that comes with the model, which attend does not run");
  ModelDescription description = family.describe(config);
  description.family = family.name;
  description.model_type = type;
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
