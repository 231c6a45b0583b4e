#include "learn/model_folder.h"

#include <attend/save.h>

#include <algorithm>

#include "model/families/family.h"
#include "model/own_model.h"
#include "save/output_file.h"
#include "train/stored_parameters.h"

namespace attend::learn {

std::string config_json(const ModelDescription& description) {
  return model::storing_family(description).config_json(description);
}

void write_file(const std::filesystem::path& file, std::string_view bytes) {
  save::OutputFile out(file);
  out.write(bytes);
  out.commit();
}

void save_model_folder(const std::filesystem::path& folder, train::Model& model,
                       const std::string& tokenizer_json, std::optional<std::int32_t> start_token) {
  ModelDescription description = model.description();
  if (start_token) description.start_token = start_token;
  write_file(folder / kConfigFile, config_json(description));
  write_file(folder / kTokenizerFile, tokenizer_json);
  train::Parameters& parameters = model.parameters();
  const model::TensorNames names = model::storing_family(description).names(description);
  std::vector<NamedTensor> tensors;
  if (description.layers.front().kind == LayerKind::recurrent) {
    for (int i = 0; i < parameters.count(); ++i) tensors.push_back({parameters[i].name, parameters.value(i)});
  } else {
    std::vector<train::ParameterLink> links = train::links_to(description, names, parameters);
    std::stable_sort(links.begin(), links.end(), [&](const auto& a, const auto& b) {
      return parameters.find(a.parameter) < parameters.find(b.parameter);
    });
    for (const train::ParameterLink& link : links) tensors.push_back({link.tensor, link.view(parameters)});
  }
  // A family that has token types has two.
  Tensor zeros(DType::f32, {2, description.hidden_size});
  if (!names.types.empty() && description.token_types == 0) tensors.push_back({names.types, zeros});
  save_safetensors(folder / kWeightsFile, tensors, {{"format", "pt"}});
}

}  // namespace attend::learn
