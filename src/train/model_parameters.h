// The parameters of a model that learns, by the names of attend's own family, and its layers' weights and
// gradients as views of them.
#pragma once

#include <attend/model_description.h>

#include <functional>
#include <vector>

#include "model/layer_backward.h"
#include "train/parameters.h"
#include "train/pass.h"

namespace attend::train {

// -1: there is none.
struct LinearPlaces {
  int weight = -1, bias = -1;
};
struct NormPlaces {
  int gamma = -1, beta = -1;
};
struct LayerPlaces {
  LinearPlaces projected{}, context{}, out{}, up{}, down{};
  NormPlaces query_norm{}, key_norm{}, attention_norm{}, feed_forward_norm{};
};

struct ModelPlaces {
  // words (vocabulary, E), positions (count, E), the one type that is learned (1, E), output (E, vocabulary).
  int words = -1, positions = -1, type = -1, output = -1;
  NormPlaces embedding_norm{}, source_embedding_norm{}, final_norm{}, source_final_norm{};
  std::vector<LayerPlaces> layers{};
};

// Adds all parameters of a transformer; their order decides their initial values. guesses: whether it has an
// output layer.
ModelPlaces add_parameters(Parameters& parameters, const ModelDescription& description, bool guesses);

// The output layer alone, where the model guesses and its own is not the table of words; else -1.
int add_output(Parameters& parameters, const ModelDescription& description, bool guesses);

// Views of parameters that have memory.
model::NormWeights norm_weights(Parameters& parameters, const NormPlaces& places);
model::NormGradients norm_gradients(Parameters& parameters, const NormPlaces& places);
// operand: the matrix of a parameter.
model::LayerWeights layer_weights(Parameters& parameters, const LayerPlaces& places,
                                  const std::function<model::Operand(int parameter)>& operand);
model::LayerGradients layer_gradients(Parameters& parameters, const LayerPlaces& places);

// Throws std::invalid_argument, in one sentence, for what cannot be trained here: relative positions, sinks,
// norms of a part's output.
void require_learnable(const ModelDescription& description);

}  // namespace attend::train
