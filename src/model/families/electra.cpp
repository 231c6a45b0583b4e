// ELECTRA (Clark et al. 2020): BERT, whose tables may have smaller rows than the stream.
#include <array>

#include "model/families/bert_names.h"
#include "model/families/config_keys.h"
#include "model/families/families.h"

namespace attend::model {
namespace {

constexpr std::array<std::string_view, 1> kElectraTypes = {"electra"};

ModelDescription describe_electra(const io::JsonFields& config) {
  ModelDescription description = kBert.describe(config);
  const std::int64_t size = config.integer({"embedding_size"}, 1, io::kLargestSize, 128);
  if (size != description.hidden_size) description.embedding_size = size;
  return description;
}

TensorNames name_electra(const ModelDescription& description) {
  TensorNames names = bert_names(description, "electra");
  if (description.embedding_size) names.embedding_projection = "embeddings_project";
  // A generator's; a discriminator, which is what is mostly published, guesses no tokens.
  names.output = {.dense = "generator_predictions.dense",
                  .norm = "generator_predictions.LayerNorm",
                  .own_activation = false,
                  .tables = {"generator_lm_head.weight"},
                  .biases = {"generator_lm_head.bias"}};
  names.sequence = roberta_sequence_names();
  names.sequence.activation = SequenceActivation::gelu;  // whatever the layers have
  return names;
}

}  // namespace

constinit const Family kElectra{"electra", kElectraTypes, describe_electra, name_electra};

}  // namespace attend::model
