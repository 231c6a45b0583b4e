#include "learn/pretrained.h"

#include <attend/file_error.h>
#include <attend/save.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "checkpoint/sentence_modules.h"
#include "io/open_file.h"
#include "learn/fingerprint.h"
#include "learn/model_folder.h"

namespace attend::learn {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostModelFileBytes = std::size_t{1} << 28;  // of one small file

// Beside config.json: how text becomes ids, for attend, transformers and sentence-transformers.
constexpr std::array kModelFiles = {"tokenizer.json",
                                    "tokenizer_config.json",
                                    "special_tokens_map.json",
                                    "added_tokens.json",
                                    "vocab.txt",
                                    "vocab.json",
                                    "merges.txt",
                                    "sentencepiece.bpe.model",
                                    "sentence_bert_config.json",
                                    "sentence_roberta_config.json",
                                    "sentence_distilbert_config.json",
                                    "sentence_xlm-roberta_config.json"};

// Weights are written as f32, but the configuration may say that they are something else.
std::string with_f32(const std::string& config) {
  using Json = nlohmann::ordered_json;
  Json json = Json::parse(config, nullptr, false);
  bool other = false;
  for (const char* const key : {"torch_dtype", "dtype"}) {
    if (!json.is_object() || !json.contains(key) || json[key] == "float32") continue;
    json[key] = "float32";
    other = true;
  }
  return other ? json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n" : config;
}

// The description of an encoder that can go on learning.
ModelDescription learnable(ModelDescription description, const std::string& file) {
  const auto refuse_it = [&](const char* why) {
    throw FileError(file, "model_type", joined('"', description.model_type, "\" ", why));
  };
  if (description.is_causal() || description.has_source())
    refuse_it("is not an encoder, and pairs only trains encoders");
  if (description.uses(PositionKind::relative))
    refuse_it("has a table of relative positions, which cannot be trained here");
  const FeedForwardDescription& part = *description.layers.front().feed_forward;
  if (part.activation != Activation::gelu && part.activation != Activation::gelu_tanh)
    throw FileError(file, "hidden_act",
                    "is an activation that pairs does not train: expected a form of gelu");
  return description;
}

}  // namespace

Pretrained::Pretrained(const std::string& name_or_folder)
    : files_(find_model(name_or_folder)),
      description_(learnable(read_model_description(files_.config), files_.config.string())),
      checkpoint_(Checkpoint::open(files_.weights)) {
  if (!files_.dense.empty()) {
    throw FileError(files_.root.string(), "modules.json",
                    "has a Dense module after the encoder, which pairs does not train");
  }
  link_and_compare();
  if (files_.folder != files_.root) inside_ = files_.folder.filename();
  carry_files();
  for (const std::string& name : checkpoint_.names()) {
    const auto is_it = [&](const train::ParameterLink& link) { return link.tensor == name; };
    const auto link = std::find_if(links_.begin(), links_.end(), is_it);
    if (link != links_.end() && link->row < 0) continue;
    const ConstTensorView tensor = checkpoint_.tensor(name);
    carried_tensors_.emplace_back(name, link == links_.end() ? copy_of(tensor) : copy_of(tensor, DType::f32));
  }
  checkpoint_.require_intact();
}

void Pretrained::carry_file(const fs::path& name) {
  if (!io::exists_inside(files_.root, name)) return;
  const io::FileText text = io::read_text(io::open_inside(files_.root, name), kMostModelFileBytes);
  carried_files_.push_back({name, {text.span().begin(), text.span().end()}});
}

void Pretrained::carry_files() {
  carry_file(inside_ / "config.json");
  carried_files_.front().bytes = with_f32(carried_files_.front().bytes);
  for (const char* const name : kModelFiles) carry_file(inside_ / name);
  if (!files_.is_sentence_model) return;
  carry_file("modules.json");
  carry_file("config_sentence_transformers.json");
  const auto modules = checkpoint::parse_modules(
      io::read_text(io::open_inside(files_.root, "modules.json"), kMostModelFileBytes));
  for (const checkpoint::Module& module : modules) {
    if (module.kind == checkpoint::ModuleKind::pooling && !module.folder.empty())
      carry_file(fs::path(module.folder) / "config.json");
  }
}

ConstTensorView Pretrained::table(const train::ParameterLink& link) const {
  const bool types = link.parameter == "type";
  return checkpoint_.tensor(link.tensor, {types ? description_.token_types : description_.position_count,
                                          description_.hidden_size});
}

ModelDescription Pretrained::description_for(std::int64_t length) const {
  ModelDescription learned = description_;
  learned.position_count = length;
  learned.first_position = 0;
  return learned;
}

// Called before anything is allocated whose size only the configuration vouches for.
void Pretrained::link_and_compare() {
  train::Model model(description_for(1), {.guesses = false}, DType::f32, train::Model::Memory::later);
  const train::Parameters& parameters = model.parameters();
  links_ = train::links_to(description_, tensors_of(checkpoint_), parameters);
  for (const train::ParameterLink& link : links_) {
    const ConstTensorView found =
        link.row >= 0 ? table(link) : checkpoint_.tensor(link.tensor, link.shape(parameters));
    if (is_float(found.dtype())) continue;
    throw FileError(checkpoint_.info(link.tensor).file, link.tensor,
                    joined("is of the type ", name_of(found.dtype()), ", expected a floating-point type"));
  }
}

void Pretrained::fill(train::Model& model) const {
  for (const train::ParameterLink& link : links_) {
    const TensorView to = link.view(model.parameters());
    if (link.row < 0) {
      copy(checkpoint_.tensor(link.tensor, to.shape()), to);
      continue;
    }
    copy(table(link).slice(0, link.row, link.row + to.size(0)), to);
  }
  checkpoint_.require_intact();
}

void Pretrained::save(const fs::path& folder, train::Model& model) const {
  for (const CarriedFile& file : carried_files_) {
    const fs::path place = folder / file.name;
    std::error_code error;
    fs::create_directories(place.parent_path(), error);
    if (error) throw FileError(place.parent_path().string(), "", "cannot be created: " + error.message());
    write_file(place, file.bytes);
  }
  std::vector<Tensor> tables;
  std::vector<NamedTensor> tensors;
  for (const auto& [name, tensor] : carried_tensors_) tables.push_back(copy_of(tensor));
  for (std::size_t i = 0; i < tables.size(); ++i) tensors.push_back({carried_tensors_[i].first, tables[i]});
  for (const train::ParameterLink& link : links_) {
    const TensorView view = link.view(model.parameters());
    if (link.row < 0) {
      tensors.push_back({link.tensor, view});
      continue;
    }
    for (std::size_t i = 0; i < tables.size(); ++i) {
      if (carried_tensors_[i].first != link.tensor) continue;
      copy(view, tables[i].view().slice(0, link.row, link.row + view.size(0)));
    }
  }
  save_safetensors(folder / inside_ / kWeightsFile, tensors, {{"format", "pt"}});
}

std::vector<fs::path> Pretrained::saved_files() const {
  std::vector<fs::path> names{inside_ / kWeightsFile};
  for (const CarriedFile& file : carried_files_) names.push_back(file.name);
  return names;
}

std::uint64_t Pretrained::fingerprint() const {
  std::uint64_t print = 0;
  for (const CarriedFile& file : carried_files_) print = fingerprint_of(file.bytes, print);
  for (const std::string& name : checkpoint_.names()) {
    const ConstTensorView tensor = checkpoint_.tensor(name);
    const auto bytes = static_cast<std::size_t>(tensor.count()) * size_of(tensor.dtype());
    print = fingerprint_of(name, print);
    print = fingerprint_of({static_cast<const char*>(tensor.host_data()), bytes}, print);
  }
  return print;
}

}  // namespace attend::learn
