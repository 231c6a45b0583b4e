#include "train/stored_parameters.h"

#include <functional>

#include "model/layer.h"
#include "model/own_model.h"
#include "model/weights.h"

namespace attend::train {
namespace {

using model::LayerNames;
using model::NormTensorNames;
using model::TensorNames;
using NormResolver = std::function<NormTensorNames(const std::string& name)>;

class Linking {
 public:
  Linking(const TensorNames& file, NormResolver norms) : file_(file), norms_(std::move(norms)) {}

  void whole(const std::string& tensor, const std::string& parameter, std::int64_t row = -1) {
    if (!tensor.empty() && !parameter.empty())
      links_.push_back({.tensor = tensor, .parameter = parameter, .row = row});
  }
  void matrix(const std::string& tensor, const std::string& parameter, bool transposed) {
    links_.push_back({.tensor = tensor, .parameter = parameter, .transposed = transposed});
  }

  void norm(const std::string& name, const std::string& parameter) {
    if (name.empty() || parameter.empty()) return;
    const NormTensorNames parts = norms_(name);
    links_.push_back({.tensor = parts.gamma, .parameter = parameter + ".gamma"});
    links_.push_back({.tensor = parts.beta, .parameter = parameter + ".beta"});
  }

  // names: one, or several whose columns stand side by side in the parameter.
  void linear(const std::vector<std::string>& names, const std::string& parameter,
              const std::vector<std::int64_t>& columns) {
    std::int64_t first = 0;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::int64_t count = names.size() == 1 ? 0 : columns[i];
      for (const char* const part : {".weight", ".bias"}) {
        links_.push_back({.tensor = names[i] + part,
                          .parameter = parameter + part,
                          .first_column = first,
                          .columns = count,
                          .transposed = part == std::string_view(".weight") && !file_.input_first});
      }
      first += count;
    }
  }

  void layer(const LayerDescription& layer, const LayerNames& names, const LayerNames& own) {
    const std::int64_t q = model::query_columns(layer.attention), k = model::key_columns(layer.attention);
    linear(names.projected, own.projected.front(), {q, k, k});
    if (!own.context.empty()) linear(names.context, own.context.front(), {k, k});
    norm(names.query_norm, own.query_norm);
    norm(names.key_norm, own.key_norm);
    linear({names.out}, own.out, {0});
    norm(names.attention_norm, own.attention_norm);
    if (!layer.feed_forward) return;
    linear(names.up, own.up.front(), {layer.feed_forward->size, layer.feed_forward->size});
    linear({names.down}, own.down, {0});
    norm(names.feed_forward_norm, own.feed_forward_norm);
  }

  // Those whose parameters exist.
  std::vector<ParameterLink> links(const Parameters& parameters) && {
    std::erase_if(links_, [&](const ParameterLink& link) { return parameters.find(link.parameter) < 0; });
    return std::move(links_);
  }

 private:
  const TensorNames& file_;
  NormResolver norms_;
  std::vector<ParameterLink> links_;
};

std::vector<ParameterLink> link(const ModelDescription& description, const TensorNames& file,
                                const NormResolver& norms, const Parameters& parameters) {
  const TensorNames own = model::own_names(description);
  Linking linking(file, norms);
  linking.whole(file.words, own.words);
  // Where all positions are learned the parameter is the tensor.
  const bool whole = description.first_position == 0 &&
                     (own.positions.empty() ||
                      parameters[parameters.find(own.positions)].shape[0] == description.position_count);
  linking.whole(file.positions, own.positions, whole ? -1 : description.first_position);
  linking.whole(file.types, own.types, 0);
  linking.norm(file.embedding_norm, own.embedding_norm);
  linking.norm(file.source_embedding_norm, own.source_embedding_norm);
  for (std::size_t i = 0; i < own.layers.size(); ++i) {
    if (description.layers[i].kind != LayerKind::recurrent)
      linking.layer(description.layers[i], file.layers[i], own.layers[i]);
  }
  linking.norm(file.final_norm, own.final_norm);
  linking.norm(file.source_final_norm, own.source_final_norm);
  if (!own.output.tables.empty() && !file.output.tables.empty() && file.output.dense.empty())
    linking.matrix(file.output.tables.front(), own.output.tables.front(), !file.output.table_input_first);
  return std::move(linking).links(parameters);
}

}  // namespace

Dims ParameterLink::shape(const Parameters& parameters) const {
  Dims shape = parameters[parameters.find(parameter)].shape;
  if (columns > 0) shape[shape.rank() - 1] = columns;
  if (transposed) std::swap(shape[0], shape[1]);
  return shape;
}

TensorView ParameterLink::view(Parameters& parameters) const {
  TensorView value = parameters.value(parameters.find(parameter));
  if (columns > 0) value = value.slice(value.rank() - 1, first_column, first_column + columns);
  return transposed ? value.transposed(0, 1) : value;
}

std::vector<ParameterLink> links_to(const ModelDescription& description, const TensorSource& file,
                                    const Parameters& parameters) {
  return link(
      description, model::names_in(description, file),
      [&](const std::string& name) { return model::norm_tensors(file, name); }, parameters);
}

std::vector<ParameterLink> links_to(const ModelDescription& description, const TensorNames& names,
                                    const Parameters& parameters) {
  return link(
      description, names,
      [&](const std::string& name) {
        return names.gamma_and_beta ? NormTensorNames{name + ".gamma", name + ".beta"}
                                    : NormTensorNames{name + ".weight", name + ".bias"};
      },
      parameters);
}

}  // namespace attend::train
